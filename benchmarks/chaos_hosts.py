"""A sweep over hosts that are lost: `python -m benchmarks.chaos_hosts --trials 200 --times 20 --seed 1`, as root.

The hosts are network namespaces of this machine. While the sweep runs, hosts are killed, links cut, raylets killed and
the PostgreSQL server restarted, each so many times at random moments, but never the first host, which has Ray's head
and the scheduler. In the end every trial must have ended exactly once, with the curve of an undisturbed sweep, and
nothing may be left on any host. The exit code says whether it was so.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg

from benchmarks.chaos import TRAINING, recorded_problems
from tests.cluster.network import Host, why_no_network
from tests.cluster.ray_hosts import RayHosts, ray_hosts
from tests.contracts.databases import PostgresServer, postgres_server
from tests.processes import words_of

KINDS = ("host", "link", "raylet", "database")
_HOSTS, _CORES = 3, 2
_YIELDING = {"MPIR_CVAR_POLLS_BEFORE_YIELD": "1"}  # ranks share the machine's cores
_TRIAL = TRAINING | {"images": 300_000}  # long enough for all losses to happen while the sweep runs
_CUT_S = (2.0, 40.0)  # Ray itself gives a host up in between
_GONE_S = 30.0
_OF_GANGS = ("engine.worker", "mpiexec", "hydra_pmi_proxy", "GangActor", "HostActor")


class Chaos:
    """What befalls a sweep's hosts and its database."""

    def __init__(self, cluster: RayHosts, server: PostgresServer, chance: random.Random) -> None:
        self._cluster, self._server, self._chance = cluster, server, chance
        self.done = dict.fromkeys(KINDS, 0)

    def befall(self, kind: str) -> None:
        """One of `KINDS`, and what an operator then does."""
        host = self._chance.choice(self._cluster.hosts[1:])
        fates: dict[str, Callable[[Host], None]] = {
            "host": self._kill,
            "link": self._cut,
            "raylet": self._kill_raylet,
            "database": self._restart_database,
        }
        fates[kind](host)
        self.done[kind] += 1

    def _kill(self, host: Host) -> None:
        self._cluster.kill(host)
        time.sleep(self._chance.uniform(0, 5))
        self._cluster.restart(host)

    def _cut(self, host: Host) -> None:
        host.unplug()
        time.sleep(self._chance.uniform(*_CUT_S))
        host.plug_in()
        time.sleep(5)
        if not self._raylets(host):  # one that its cluster has given up ends itself
            self._cluster.restart(host)

    def _kill_raylet(self, host: Host) -> None:
        for process in self._raylets(host):
            process.kill()
        time.sleep(self._chance.uniform(0, 5))
        self._cluster.restart(host)

    def _raylets(self, host: Host) -> list[psutil.Process]:
        return [one for one in self._cluster.processes(host) if Path((words_of(one) or [""])[0]).name == "raylet"]

    def _restart_database(self, host: Host) -> None:  # noqa: ARG002 - as the others
        self._server.restart(self._chance.choice((signal.SIGINT, signal.SIGQUIT)), self._chance.uniform(0, 3))


class Watched:
    """The sweep, from its start on the first host to its end."""

    def __init__(self, cluster: RayHosts, url: str, folder: Path, trials: int) -> None:
        self._cluster, self._url, self._log = cluster, url, folder / "said.log"
        spec = folder / "sweep.json"
        spec.write_text(json.dumps(_spec(trials)))
        first = cluster.hosts[0]
        words = [sys.executable, "-m", "sweeper.cli", "run", str(spec), "--store", url, "--ray-address"]
        environment = {**cluster.environment(first), "PYTHONPATH": os.getcwd(), "SWEEPER_LOGS": str(folder / "logs")}
        self.process = first.start([*words, cluster.address], environment, self._log)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What its store answers; nothing where it has no tables yet, or does not answer."""
        with suppress(psycopg.Error), psycopg.connect(self._url) as connection:
            return connection.execute(query).fetchall()
        return []

    def ended(self) -> int:
        """How many trials have."""
        return len(self.rows("SELECT 1 FROM trial WHERE state NOT IN ('pending', 'running')"))

    def problems(self, undisturbed: dict[str, list[Any]], trials: int) -> list[str]:
        """What is not as it must be, in words."""
        found = []
        if code := self.process.wait():
            found.append(f"the sweep ended with {code}: {self._log.read_text()[-2000:]}")
        found += recorded_problems(self.rows, trials)
        rows = self.rows("SELECT parameters, area_images, minimum_loss FROM trial")
        if different := [row for row in rows if undisturbed.get(_key(row[0])) != list(row[1:])]:
            found.append(f"{len(different)} trials have another curve, for example {different[0]}")
        return [*found, *self._left()]

    def _left(self) -> list[str]:
        deadline = time.monotonic() + _GONE_S
        while (left := self._processes()) and time.monotonic() < deadline:
            time.sleep(0.5)
        return [f"left on {name}: {words}" for name, words in left]

    def _processes(self) -> list[tuple[str, str]]:
        """Of gangs, on any host."""
        told = [
            (host.name, " ".join(words_of(one)))
            for host in self._cluster.hosts
            for one in self._cluster.processes(host)
        ]
        return [(name, words) for name, words in told if any(part in words for part in _OF_GANGS)]


def _spec(trials: int) -> dict[str, Any]:
    return {
        "name": "chaos",
        "trial": _TRIAL,
        "space": {"workers": [1, _CORES + 1], "seed": list(range(trials // 2))},
        "objective": {"over": "images"},
    }


def _key(parameters: Any) -> str:
    return json.dumps(json.loads(parameters) if isinstance(parameters, str) else parameters, sort_keys=True)


def undisturbed(folder: Path, trials: int) -> dict[str, list[Any]]:
    """Area over images and minimum loss by the settings of each trial, from a sweep on one host."""
    (folder / "sweep.json").write_text(json.dumps(_spec(trials)))
    command = [sys.executable, "-m", "sweeper.cli", "run", "sweep.json", "--executor", "local", "--oversubscribe"]
    environment = {**os.environ, "PYTHONPATH": os.getcwd(), "SWEEPER_LOGS": str(folder / "logs")}
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    with sqlite3.connect(folder / "sweeper.db") as store:
        rows = store.execute("SELECT parameters, area_images, minimum_loss FROM trial").fetchall()
    return {_key(row[0]): list(row[1:]) for row in rows}


def main() -> int:
    """Run both sweeps and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--times", type=int, default=20, help="that each of them happens")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if problem := why_no_network():
        sys.exit(problem)
    os.environ |= _YIELDING
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # hosts are to be taken down
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other, postgres_server() as server:
        expected = undisturbed(Path(one), given.trials)
        with ray_hosts(_HOSTS, _CORES) as cluster:
            begun = time.monotonic()
            sweep, chaos = Watched(cluster, server.url, Path(other), given.trials), Chaos(cluster, server, chance)
            kinds = [*KINDS] * given.times
            chance.shuffle(kinds)
            moments = sorted(chance.randrange(given.trials) for _ in kinds)
            while not sweep.rows("SELECT 1 FROM trial") and sweep.process.poll() is None:
                time.sleep(0.2)  # before that there is no sweep that could be disturbed
            for moment, kind in zip(moments, kinds, strict=True):
                while sweep.ended() < moment and sweep.process.poll() is None:
                    time.sleep(0.2)
                time.sleep(chance.uniform(0, 2))
                if sweep.process.poll() is None:
                    chaos.befall(kind)
            found = sweep.problems(expected, given.trials)
        happened = ", ".join(f"{count} x {kind}" for kind, count in chaos.done.items())
        sys.stdout.write(f"{given.trials} trials in {time.monotonic() - begun:.0f} s, lost: {happened}\n")
        sys.stdout.write("".join(f"wrong: {problem}\n" for problem in found) or "all as undisturbed, nothing left\n")
    return min(1, len(found))


if __name__ == "__main__":
    sys.exit(main())
