"""A service that runs: in namespaces of its own, on a copy of its image that only it writes, with an address."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from docker.try_image.compose import SECRETS, Service
from docker.try_image.network import Network, connect
from docker.try_image.sandbox import Identity, Mount, as_user, inside, mounting, script
from sweeper.errors import SweeperError


@dataclass(frozen=True)
class Place:
    """Where a container is: folders of this machine, and the networks that it is in."""

    folder: Path  # its own, for what it writes
    secrets: Path
    volumes: Path
    networks: Sequence[Network]


class Container:
    """One container, from its start."""

    def __init__(self, service: Service, place: Place) -> None:
        self.service, self._place = service, place
        self.root = place.folder / "root"
        self.log = place.folder / "log"
        self._identity = Identity.read(service.image.user)
        self._identity = Identity(self._identity.user, self._identity.group, service.bare)
        for name in ("root", "upper", "work"):
            (place.folder / name).mkdir(parents=True)
        self._process = self._start()
        self._connect()

    def execute(self, command: Sequence[str], timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
        """Run a command in it, as `docker exec` does; a command that takes longer has exit code 124."""
        spaces = ["nsenter", f"--target={self._first()}", *("--mount", "--pid", "--net", "--ipc", "--uts", "--root")]
        words = as_user(command, identity=self._identity, folder=self._folder(), environment=self._environment())
        try:
            return subprocess.run([*spaces, *words], capture_output=True, text=True, timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            return subprocess.CompletedProcess(command, 124, "", f"took longer than {error.timeout:g} s")

    def wait_until_healthy(self, timeout_s: float) -> None:
        """Ask its health check each second. Raises SweeperError where it ends, or stays ill for too long."""
        kind, *words = self.service.health
        command = ["sh", "-c", *words] if kind == "CMD-SHELL" else words
        deadline = time.monotonic() + timeout_s
        while True:
            if self._process.poll() is not None:
                raise SweeperError(f"{self.service.name} ended with {self._process.returncode}", self.last_words())
            done = self.execute(command, timeout_s=10.0)
            if done.returncode == 0:
                return
            if time.monotonic() > deadline:
                raise SweeperError(f"{self.service.name} does not become healthy: {done.stderr}", self.last_words())
            time.sleep(1.0)

    def stop(self, grace_s: float = 10.0) -> bool:
        """End it as `docker stop` does: SIGTERM, and SIGKILL after the grace. Whether it ended by itself."""
        if self._process.poll() is None:
            os.kill(self._first(), signal.SIGTERM)
        try:
            self._process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return False
        return True

    def _start(self) -> subprocess.Popen[str]:
        with self.log.open("w") as log:
            return subprocess.Popen(
                ["unshare", "--net", *script(self._mounts(), self._command())],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
            )

    def _command(self) -> list[str]:
        return inside(
            self.root,
            self.service.command,
            identity=self._identity,
            folder=self._folder(),
            environment=self._environment(),
        )

    def _folder(self) -> str:
        return self.service.image.folder

    def _environment(self) -> dict[str, str]:
        return {"HOME": _home(self.service.image.tree, self._identity.user), **self.service.environment}

    def _mounts(self) -> str:
        """Shell lines: wait for the network, then mount what a container engine would."""
        folder, tree = self._place.folder, self.service.image.tree
        hosts, resolver = folder / "hosts", folder / "resolv.conf"
        names = [line for network in self._place.networks for line in network.names()]
        hosts.write_text("\n".join(["127.0.0.1 localhost", *names, ""]))
        # An engine's name server would answer here. Nobody does, at once, so names come out of /etc/hosts.
        resolver.write_text("nameserver 127.0.0.11\n")
        mounts = [
            Mount(Path("/sys"), "/sys"),
            Mount(hosts, "/etc/hosts"),
            Mount(resolver, "/etc/resolv.conf"),
            *(Mount(self._place.secrets / name, f"{SECRETS}/{name}") for name in self.service.secrets),
            *(Mount(self._volume(name), target, read_only=False) for name, target in self.service.volumes.items()),
        ]
        root = shlex.quote(str(self.root))
        return "\n".join(
            [
                "read -r _",
                f"hostname {self.service.name}",
                f"mount -t overlay overlay -o lowerdir={tree},upperdir={folder}/upper,workdir={folder}/work {root}",
                f"mount -t tmpfs -o mode=1777,size={self.service.shared_memory_bytes} tmpfs {root}/dev/shm",
                mounting(self.root, mounts),
            ]
        )

    def _volume(self, name: str) -> Path:
        """A volume's folder; a new one begins as what the image has at its place, owner included."""
        volume = self._place.volumes / name
        if not volume.exists():
            self._place.volumes.mkdir(parents=True, exist_ok=True)
            source = self.service.image.tree / self.service.volumes[name].lstrip("/")
            subprocess.run(["cp", "--archive", source, volume], check=True)
        return volume

    def _connect(self) -> None:
        """Give it its addresses, then let it begin."""
        connect(self._first(), self.service.name, self._place.networks)
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.close()

    def _first(self) -> int:
        """The id of its first process, as seen from here."""
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children")
        deadline = time.monotonic() + 10.0
        while not (found := children.read_text().split()):
            if time.monotonic() > deadline:
                raise SweeperError(f"{self.service.name} has not started", self.last_words())
            time.sleep(0.02)
        return int(found[0])

    def last_words(self) -> str:
        """The end of its log, for people."""
        return f"the end of its log:\n{self.log.read_text()[-4000:]}"


def _home(tree: Path, user: int) -> str:
    rows = [line.split(":") for line in (tree / "etc/passwd").read_text().splitlines()]
    return next((row[5] for row in rows if row[2] == str(user)), "/")
