"""Gangs over two hosts of a Ray cluster beside gangs on one: `python -m benchmarks.hosts`, as root.

The hosts are network namespaces of this machine (`tests.cluster`), which share its cores: what the network costs is
measured, what more cores would bring is not. A link is cut and a host killed to see when the gang there has failed.
"""

from __future__ import annotations

import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from benchmarks.measure import Row, alone, arguments, compare, report, spread, versions
from engine.config import TrainingConfig
from engine.protocol import Ended, Event, Failed, Point, Ready, Started
from sweeper.gangs.base import Job
from sweeper.gangs.ray import RayExecutor
from tests.cluster.network import Host, why_no_network
from tests.cluster.ray_hosts import RayHosts, ray_hosts

_RANKS, _CORES = 4, 4  # of a gang, and of each host
_LIMIT_S = 300.0
_GONE_S = 2.0  # for an idle gang to leave
_ENDLESS = 10_000_000


class Measured:
    """Jobs on a cluster, one at a time, by an executor on its first host."""

    def __init__(self, cluster: RayHosts, executor: RayExecutor, folder: Path) -> None:
        self._cluster, self._executor, self._folder, self._numbers = cluster, executor, folder, count()

    def cold_s(self, hosts: int) -> float:
        """From the start of a job on a new gang over so many hosts to its first loss point, that of its first step."""
        self._executor.dismiss_idle()
        time.sleep(_GONE_S)
        name = self._start(hosts, 64)
        begun = time.monotonic()
        took = self._until(name, Point) - begun
        self._until(name, Ended)
        return took

    def turn_round_ms(self, hosts: int) -> float:
        """From the start of a job on a warm gang to the start of its training."""
        begun = time.monotonic()
        name = self._start(hosts, 640)
        took = self._until(name, Started) - begun
        self._until(name, Ended)
        return 1000 * took

    def failure_s(self, fate: Callable[[Host], None]) -> float:
        """From what happens to a host, not the first, to the failure of the gang of which it has a part."""
        name = self._start(2, _ENDLESS)
        while not isinstance(event := self._next(name), Ready):
            pass
        self._until(name, Point)
        names = {host.name: host for host in self._cluster.hosts}
        host = next(names[one] for one in event.hosts if one != self._cluster.hosts[0].name)
        fate(host)
        begun = time.monotonic()
        took = self._until(name, Failed) - begun
        host.plug_in()
        self._cluster.restart(host)
        while len(self._executor.capacity().hosts) < len(self._cluster.hosts):
            time.sleep(1)
        return took

    def kill(self, host: Host) -> None:
        """Have all that runs on a host die at once."""
        self._cluster.kill(host)

    def _start(self, hosts: int, images: int) -> str:
        name = f"job-{next(self._numbers)}"
        self._executor.start(_job(name, hosts, images, self._folder))
        return name

    def _until(self, name: str, kind: type[Event]) -> float:
        while not isinstance(event := self._next(name), kind):
            if isinstance(event, Failed):
                raise RuntimeError(event.reason)
        return time.monotonic()

    def _next(self, name: str) -> Event:
        limit = time.monotonic() + _LIMIT_S
        while not getattr(self, "_heard", None):
            self._heard = [one.event for one in self._executor.events(1.0) if one.trial_id == name]
            if time.monotonic() > limit:
                raise RuntimeError(f"{name}: no word for {_LIMIT_S:g} s")
        return self._heard.pop(0)


def _job(name: str, hosts: int, images: int, folder: Path) -> Job:
    """A job whose ranks take all cores of so many hosts."""
    settings = {"data": "step-function", "model": "neuron", "images": images, "batch_size": 16, "points": 10}
    return Job(
        trial_id=name,
        attempt=1,
        workers=_RANKS,
        cpus_per_worker=hosts * _CORES // _RANKS,
        gpus_per_worker=0,
        config=TrainingConfig.model_validate(settings).model_dump(mode="json"),
        log=str(folder / f"{name}.log"),
    )


@contextmanager
def _measured(hosts: int) -> Iterator[Measured]:
    os.environ.setdefault("MPIR_CVAR_POLLS_BEFORE_YIELD", "1")  # ranks share the machine's cores
    with (
        tempfile.TemporaryDirectory() as folder,
        ray_hosts(hosts, _CORES) as cluster,
        cluster.entered(cluster.hosts[0]),
    ):
        executor = RayExecutor(cluster.address)
        try:
            yield Measured(cluster, executor, Path(folder))
        finally:
            executor.close()


def rows(quick: bool) -> Iterator[Row]:
    """All that is measured."""
    used = versions("torch", "mpi4py", "ray")
    colds, warms, fates = (1, 5, 0) if quick else (3, 30, 2)
    with _measured(2) as on:
        on.cold_s(2)  # Ray starts its first processes
        name = f"cold gang of {_RANKS} ranks over 2 hosts, to its first step"
        yield compare(name, "s", lambda: on.cold_s(2), "on one host", lambda: on.cold_s(1), colds, used)
        yield _turn_rounds(on, 2, warms, used)
        yield _turn_rounds(on, 1, warms, used)
        if fates:
            yield alone("a link is cut, to the gang's failure", "s", lambda: on.failure_s(Host.unplug), fates, used)
            yield alone("a host is killed, to the gang's failure", "s", lambda: on.failure_s(on.kill), fates, used)


def _turn_rounds(on: Measured, hosts: int, n: int, used: dict[str, str]) -> Row:
    on.cold_s(hosts)
    found = [on.turn_round_ms(hosts) for _ in range(n)]
    name = f"turn-round of a warm gang of {_RANKS} ranks over {hosts} host{'s' * (hosts > 1)}: median"
    return Row(name, statistics.median(found), "ms", "", None, None, n, spread(found), used)


def main() -> None:
    """Measure and report."""
    given = arguments(__doc__ or "")
    if problem := why_no_network():
        sys.exit(problem)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # hosts are to be taken down
    report(rows(given.quick), given.json)


if __name__ == "__main__":
    main()
