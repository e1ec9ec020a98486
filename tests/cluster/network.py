"""Hosts on this machine: network namespaces, joined by cables to a switch. Needs root, and `ip` of iproute2."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

_CLONE_NEWNET = 0x40000000  # of setns(2)
_NAMESPACES = Path("/run/netns")
_RESOLVER = Path("/etc/resolv.conf")
OWN_FOLDER = "own"  # beside the hosts' folders
BY_NETWORK = {"UCX_TLS": "tcp,self"}  # MPICH sees that hosts share a kernel, and would talk by its memory
_numbers = count()  # of this process's networks: one may be up while another is made


def why_no_network() -> str:
    """What keeps this machine from having namespaces; "" where nothing does."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "no `ip` on this machine (Debian's iproute2 has it)"
    tried = f"sweeper-try-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", tried], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "delete", tried], capture_output=True)
    return made.stderr.strip()


def why_no_delay() -> str:
    """What keeps packets of namespaces from being delayed; "" where nothing does."""
    tried = f"sweeper-try-{os.getpid()}"
    _ip("netns", "add", tried)
    try:
        words = ["tc", "-n", tried, "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
        done = subprocess.run(words, capture_output=True, text=True)
        return f"this kernel cannot delay packets (netem: {done.stderr.strip()})" if done.returncode else ""
    finally:
        _forget(tried)


@dataclass
class Host:
    """A host by its name, which no other host can look up, and the address of its only interface beside loopback."""

    name: str
    namespace: str
    address: str
    interface: str
    cable: str  # its end at the switch
    switch: str
    folder: Path
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def command(self, words: Sequence[str]) -> list[str]:
        """These words as a command that runs here, with the host's own name."""
        own_name = ["unshare", "--uts", "sh", "-c", f'hostname {self.name} && {self._own_folder()} && exec "$@"', "sh"]
        return ["ip", "netns", "exec", self.namespace, *own_name, *words]

    def start(self, words: Sequence[str], environment: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
        """Run a program here, its words in a log."""
        with log.open("ab") as output:
            process = subprocess.Popen(
                self.command(words),
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.started.append(process)
        return process

    def _own_folder(self) -> str:
        """The shell's words for a folder that has the same path on each host, and other files: nothing else has."""
        own, shown = self.folder / "own", self.folder.parent / OWN_FOLDER
        own.mkdir(exist_ok=True)
        shown.mkdir(exist_ok=True)
        return f"mount --bind {own} {shown}"

    def unplug(self) -> None:
        """Pull its cable: nothing reaches it, and nobody is told."""
        _ip("-n", self.switch, "link", "set", self.cable, "down")

    def plug_in(self) -> None:
        """Put the cable back."""
        _ip("-n", self.switch, "link", "set", self.cable, "up")

    def shape(self, mbit: float | None, delay_ms: float = 0.0) -> None:
        """Make its cable slow: this rate in both directions, and a delay for each packet sent, both lasting."""
        ends = [(self.namespace, self.interface), (self.switch, self.cable)]
        for namespace, interface in ends if mbit else ():
            slow = ["root", "handle", "1:", "tbf", "rate", f"{mbit}mbit", "burst", "32kb", "latency", "1s"]
            _tc("-n", namespace, "qdisc", "replace", "dev", interface, *slow)
        if delay_ms:
            under = ["parent", "1:1"] if mbit else ["root"]
            _tc("-n", self.namespace, "qdisc", "add", "dev", self.interface, *under, "netem", "delay", f"{delay_ms}ms")

    def unshape(self) -> None:
        """Make its cable fast again."""
        for namespace, interface in ((self.namespace, self.interface), (self.switch, self.cable)):
            _tc("-n", namespace, "qdisc", "delete", "dev", interface, "root")

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Have this thread, and the processes that it starts, sit on this host."""
        with Path("/proc/thread-self/ns/net").open() as before:
            _enter(_NAMESPACES / self.namespace)
            try:
                yield
            finally:
                _set_namespace(before.fileno())


@contextmanager
def network(hosts: int, folder: Path) -> Iterator[list[Host]]:
    """So many hosts at a switch, each with a folder of its own below `folder`; gone in the end."""
    mark = f"sw{os.getpid()}-{next(_numbers)}"
    switch = f"{mark}-switch"
    with ExitStack() as undo:
        _add_namespace(switch, undo)
        _ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", switch, "link", "set", "bridge", "up")
        yield [_add_host(number, mark, switch, folder, undo) for number in range(1, hosts + 1)]


def _add_host(number: int, mark: str, switch: str, folder: Path, undo: ExitStack) -> Host:
    # Interfaces have other names on each host, as they do on unlike machines.
    host = Host(
        name=f"sweeper-host-{number}",
        namespace=f"{mark}-{number}",
        address=f"10.77.0.{number}",
        interface=f"net{number}",
        cable=f"cable{number}",
        switch=switch,
        folder=folder / f"host-{number}",
    )
    host.folder.mkdir()
    _add_namespace(host.namespace, undo)
    peer = ["peer", "name", host.interface, "netns", host.namespace]
    _ip("-n", switch, "link", "add", host.cable, "type", "veth", *peer)
    _ip("-n", switch, "link", "set", host.cable, "master", "bridge", "up")
    _ip("-n", host.namespace, "address", "add", f"{host.address}/24", "dev", host.interface)
    _ip("-n", host.namespace, "link", "set", host.interface, "up")
    _ip("-n", host.namespace, "route", "add", "default", "dev", host.interface)
    for server in _name_servers():  # names are unknown, and that is told at once
        _ip("-n", host.namespace, "route", "add", "unreachable", server)
    return host


def _name_servers() -> list[str]:
    lines = _RESOLVER.read_text().splitlines() if _RESOLVER.exists() else []
    servers = [line.split()[1] for line in lines if line.startswith("nameserver ")]
    return [server for server in servers if "." in server and not server.startswith("127.")]


def _add_namespace(name: str, undo: ExitStack) -> None:
    _ip("netns", "add", name)
    undo.callback(_forget, name)
    _ip("-n", name, "link", "set", "lo", "up")


def _forget(name: str) -> None:
    with suppress(subprocess.CalledProcessError):
        _ip("netns", "delete", name)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def _tc(*words: str) -> None:
    subprocess.run(["tc", *words], check=True, capture_output=True)


def _enter(path: Path) -> None:
    with path.open() as namespace:
        _set_namespace(namespace.fileno())


def _set_namespace(descriptor: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
