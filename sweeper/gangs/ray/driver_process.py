"""The driver process of one executor, as the executor sees it."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from sweeper.errors import LaunchError, LostRayError
from sweeper.gangs.calls.near import CalledProcess
from sweeper.gangs.processes import end_job, family
from sweeper.gangs.seats import Capacity, Growth

_RAY_LOG = re.compile(r"^\[[^]]*\] \S+:\d+: ")  # time, process and line of code before what its log says
_START_S = 60.0
_CLOSE_S = 10.0
_PRIVATE_REMEDY = "check it with `sweeper doctor`, or use the local executor"
CLUSTER_REMEDY = (
    "start the cluster, run on one of its nodes, and set RAY_AUTH_MODE and RAY_AUTH_TOKEN_PATH as on its nodes"
)


class DriverProcess(CalledProcess):
    """A process that is connected to Ray: to a cluster by its address, or to a private Ray by how much it may use.
    A cluster may have a `growth`.

    A private Ray listens on the loopback interface only, asks a secret of whoever connects, and keeps its files in a
    temporary folder that goes with it. Its calls are the methods of `sweeper.gangs.ray.driver.Gangs`.

    Raises:
        LaunchError: Ray cannot be started or reached, within a minute.
    """

    def __init__(self, place: str | Capacity, growth: Growth | None = None) -> None:
        # Sockets in this folder have paths of at most 107 characters: the system's folder, not a user's deep one.
        self._folder = Path(tempfile.mkdtemp(prefix="sweeper-ray-", dir="/tmp"))
        command = [sys.executable, "-m", "sweeper.gangs.ray.driver", "--folder", str(self._folder)]
        command += [*_options(place), *(["--growth", str(growth)] if growth else [])]
        environment = os.environ if isinstance(place, str) else _private(os.environ)
        self._ran = False
        named = (
            (f"Ray at {place}", CLUSTER_REMEDY) if isinstance(place, str) else ("Ray on this machine", _PRIVATE_REMEDY)
        )
        try:
            super().__init__(command, environment, self._folder / "driver.log", name=named[0], remedy=named[1])
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        try:
            self.until_ready(_START_S)
            self._ran = True
        except BaseException:  # an interrupt as well: nobody else would end it
            self.close()
            raise

    def ended(self, last_words: str) -> LaunchError:
        """Ray has died, if it ever ran: it takes its driver along."""
        if not self._ran:
            return self.no_answer(last_words)
        said = _RAY_LOG.sub("", last_words).partition(". ")[0]
        return LostRayError(f"{self._name} has died ({said})", f"{self._remedy}; then `sweeper resume` goes on")

    def close(self) -> None:
        """Leave Ray, or shut a private one down; what has not ended by then is killed. Safe to call twice."""
        if self.process.returncode is not None:
            return
        members = family(self.process.pid)
        self.leave(_CLOSE_S)
        end_job(self.process, members)
        self.join()
        shutil.rmtree(self._folder, ignore_errors=True)


def _options(place: str | Capacity) -> list[str]:
    if isinstance(place, str):
        return ["--address", place]
    return ["--cpus", str(place.total.cpus), "--gpus", str(place.total.gpus)]


def _private(outer: Mapping[str, str]) -> dict[str, str]:
    """The environment of a Ray of our own. Other users of the machine reach its ports too: they lack the secret."""
    kept = {name: value for name, value in outer.items() if name != "RAY_ADDRESS"}
    return {**kept, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
