"""A Ray cluster over the hosts of a network, one raylet a host."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from sweeper.gangs.seat_locks import VARIABLE as SEATS_VARIABLE
from tests.cluster.network import BY_NETWORK, Host, network
from tests.processes import eventually, processes_with

TAG = "SWEEPER_TEST_CLUSTER"  # inherited by all that runs on a host, with the host's name
_PORT = 6379
_STORE_BYTES = 100 * 1024 * 1024  # Ray wants as much as this
_END_S = 20.0
_START_S = 120
_PATIENCE = {"RAY_raylet_start_wait_time_s": str(_START_S)}  # with a machine that other tests share


@dataclass
class RayHosts:
    """Hosts with a raylet each; Ray's head is the first.

    A secret of their own keeps the user's settings out of it: Ray takes a token that it finds in the home folder.
    """

    hosts: list[Host]
    folder: Path
    cpus: int = 1  # of each host
    secret: str = field(default_factory=lambda: secrets.token_hex(32), repr=False)

    @property
    def address(self) -> str:
        """Of the cluster's control service."""
        return f"{self.hosts[0].address}:{_PORT}"

    def environment(self, host: Host) -> dict[str, str]:
        """For what runs on a host: data, cache and seats of its own."""
        data, seats = host.folder / "data", host.folder / "seats"
        data.mkdir(exist_ok=True)
        own = {"SWEEPER_DATA": str(data), SEATS_VARIABLE: str(seats), TAG: f"{os.getpid()} {host.name}"}
        own["XDG_CACHE_HOME"] = str(host.folder / "cache")
        return {**os.environ, **BY_NETWORK, **own, **self._of_ray()}

    @contextmanager
    def entered(self, host: Host) -> Iterator[None]:
        """Have this process sit on a host, with what it takes to join the cluster."""
        with host.entered(), pytest.MonkeyPatch.context() as patch:
            for name, value in self._of_ray().items():
                patch.setenv(name, value)
            yield

    def _of_ray(self) -> dict[str, str]:
        return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": self.secret, "RAY_USAGE_STATS_ENABLED": "0", **_PATIENCE}

    def begin(self, host: Host) -> Callable[[], bool]:
        """Start a raylet on a host, on the first one the head; what tells whether it has joined."""
        first = host is self.hosts[0]
        where = ["--head", f"--port={_PORT}", "--include-dashboard=false"] if first else [f"--address={self.address}"]
        options = [
            f"--node-ip-address={host.address}",
            f"--num-cpus={self.cpus}",
            "--num-gpus=0",
            f"--object-store-memory={_STORE_BYTES}",
            f"--temp-dir={host.folder / 'ray'}",
            "--disable-usage-stats",
            "--block",
        ]
        log = host.folder / "ray.log"
        log.unlink(missing_ok=True)
        ray = [str(Path(sys.executable).parent / "ray"), "start", *where, *options]
        process = host.start(ray, self.environment(host), log)

        def joined() -> bool:
            assert process.poll() is None, log.read_text()
            return "Ray runtime started." in log.read_text()

        return joined

    def start(self, *hosts: Host) -> None:
        """Start raylets, and wait until all have joined."""
        joined = [self.begin(host) for host in hosts]
        assert eventually(lambda: all(one() for one in joined), _START_S)

    def processes(self, host: Host) -> list[psutil.Process]:
        """All that runs on a host."""
        return processes_with(TAG, f"{os.getpid()} {host.name}")

    def kill(self, host: Host) -> None:
        """Kill everything on a host at once, as a loss of power does."""
        for process in self.processes(host):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        assert eventually(lambda: not self.processes(host))

    def restart(self, host: Host) -> None:
        """Start a raylet in place of one that is gone, or that the cluster has given up."""
        self.kill(host)
        self.start(host)

    def end(self) -> None:
        """End the raylets, the head last, and whatever is left on the hosts."""
        for host in reversed(self.hosts):
            for process in host.started:
                process.send_signal(signal.SIGTERM)
            for process in host.started:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_END_S)
            self.kill(host)
            for process in host.started:
                process.wait()


@contextmanager
def ray_hosts(count: int, cpus: int = 1) -> Iterator[RayHosts]:
    """A cluster of so many hosts, with so many cores on each."""
    folder = Path(tempfile.mkdtemp(prefix="sw-hosts-", dir="/tmp"))  # Ray's sockets have short paths
    try:
        with network(count, folder) as hosts:
            cluster = RayHosts(hosts, folder, cpus)
            try:
                cluster.start(hosts[0])
                cluster.start(*hosts[1:])
                yield cluster
            finally:
                cluster.end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
