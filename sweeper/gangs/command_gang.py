"""One running MPI job of a user's own program, for one trial: what its ranks say, as events."""

from __future__ import annotations

import json
import math
import os
import platform
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from engine import rank
from engine.protocol import Ended, Event, Failed, Point, Ready, Started
from sweeper.command import CommandConfig
from sweeper.gangs.base import Job, JobEvent
from sweeper.gangs.mpi_job import MpiJob, tail
from sweeper.gangs.watchdog import Watchdog
from sweeper.reporting import MARK, TRIAL_VARIABLE

_HOST = "127.0.0.1"  # a gang sits on one host
_MARKS = re.compile(f"{re.escape(rank.MARK)}|{re.escape(MARK)}")
_LAST_WORDS_S = 0.5  # what other ranks get to say once one has failed


class CommandGang:
    """A command on `job.workers` ranks; serves the one job that it was made for.

    Raises:
        LaunchError: there is no mpiexec, or it cannot be started.
    """

    def __init__(self, job: Job, gpus: Sequence[str] | None) -> None:
        self._job, config = job, CommandConfig.model_validate(job.config)
        # `python` is the one that runs us, which has `sweeper`.
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
        variables = {
            "PATH": path,
            "MASTER_ADDR": _HOST,
            "MASTER_PORT": str(_free_port()),
            TRIAL_VARIABLE: job.trial_id,
            **config.variables(job.workers),
        }
        program = [sys.executable, "-m", rank.__name__, *config.words(job.workers)]
        self._mpi = MpiJob(job, program, gpus, variables, job.folder or None)
        self._said: dict[int, dict[str, Any]] = {}  # of each rank: its process and host, and in the end its exit code
        self._failed: dict[str, Any] = {}
        self._stopped = False
        self._over = False
        self._last: Point | None = None
        self._steps = 0
        self._started_at = 0.0

    def run(self, job: Job) -> Iterator[JobEvent]:
        """Run the command; its events as they come, ending with Ended or Failed, after which nothing of it is left."""
        # The signal by which our own ranks tell where they are would end a program that does not know of it.
        watchdog = Watchdog(job.limit_s, job.stall_s, list, self._mpi.end)
        with watchdog.watching():
            for line in self._mpi.lines():
                for event in self._heard(line, job):
                    watchdog.alive()
                    yield self._mpi.wrapped(job, event, self._mpi.begun)
        self._over = True
        end = self._end_of(job, watchdog.reason)
        self._mpi.kill()
        yield self._mpi.wrapped(job, end, self._mpi.begun)

    def alive(self) -> bool:
        """Whether another job may come: none does."""
        return False

    def stop(self, trial_id: str) -> None:
        """End the command; what it has reported stays."""
        if self._job.trial_id == trial_id and not self._over:
            self._stopped = True
            self._end_soon(0.0)

    def close(self) -> None:
        """End it now, to its last process."""
        self._mpi.kill()

    def _heard(self, line: str, job: Job) -> Iterator[Event]:
        found = _MARKS.search(line)
        said = _read(line[found.start() :]) if found else None
        if found is None or said is None:
            if line.strip():
                self._mpi.keep(line)
            return
        if (unfinished := line[: found.start()]).strip():
            self._mpi.keep(unfinished)  # what the program had written so far of a line of its own
        if "rank" in said:
            yield from self._heard_of_rank(said, job)
        else:
            yield from self._heard_of_training(said["sweeper"], job, line)

    def _heard_of_training(self, report: Any, job: Job, line: str) -> Iterator[Event]:
        if isinstance(report, dict) and report.get("started"):
            self._started_at = time.monotonic()
        elif (point := self._point(report, job.trial_id)) is not None:
            self._last = point
            yield point
            if not math.isfinite(point.loss):
                self._end_soon(0.0)
        else:
            self._mpi.keep(line)

    def _heard_of_rank(self, said: dict[str, Any], job: Job) -> Iterator[Event]:
        number = said["rank"]
        self._said.setdefault(number, {}).update(said)
        if "pid" in said and len(self._pids()) == job.workers:
            self._started_at = time.monotonic()
            self._mpi.note_members(self._pids())
            hosts = [self._said[n]["host"] for n in sorted(self._said)]
            versions = {"python": platform.python_version()}
            yield Ready(job.workers, self._pids(), hosts, versions)
            yield Started(job.trial_id, 0.0, {"command": CommandConfig.model_validate(job.config).words(job.workers)})
        elif said.get("code") and not self._failed:
            self._failed = said
            self._end_soon(_LAST_WORDS_S)

    def _pids(self) -> list[int]:
        return [self._said[number]["pid"] for number in sorted(self._said) if "pid" in self._said[number]]

    def _point(self, report: Any, trial_id: str) -> Point | None:
        """None where what was reported is no point."""
        try:
            self._steps = int(report.get("step", self._steps + 1))
            since = time.monotonic() - self._started_at
            images, seconds = int(report.get("images", 0)), float(report.get("seconds", since))
            return Point(trial_id, self._steps, images, seconds, float(report["loss"]))
        except (AttributeError, LookupError, TypeError, ValueError, OverflowError):
            return None

    def _end_soon(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self._mpi.end)
        timer.daemon = True
        timer.start()

    def _end_of(self, job: Job, overdue: str) -> Ended | Failed:
        log, last = self._mpi.log, self._last
        guilty, how = self._mpi.death([])
        if overdue:
            return Failed(job.trial_id, f"{overdue}; see {log}")
        if last and not math.isfinite(last.loss):
            return Ended(job.trial_id, "diverged", last.step, last.images, last.seconds, reason=f"loss {last.loss}")
        if self._stopped:
            at = last or Point(job.trial_id, 0, 0, 0.0, math.nan)
            return Ended(job.trial_id, "stopped", at.step, at.images, at.seconds)
        if self._failed:
            number, traceback = self._failed["rank"], last_traceback(tail(log))
            what = self._failed.get("error") or f"ended with exit code {self._failed['code']}"
            if traceback:
                what = traceback.splitlines()[-1]
            return Failed(job.trial_id, f"rank {number}: {what}; see {log}", number, traceback)
        if any(said.get("code") != 0 for said in self._said.values()) or len(self._said) < job.workers:
            return Failed(job.trial_id, f"{how}; see {log}", guilty)
        if not last:
            remedy = "call sweeper.report(loss=...) on rank 0, or print its line"
            return Failed(job.trial_id, f"the command ended without a loss; {remedy}; see {log}")
        return Ended(job.trial_id, "completed", last.step, last.images, last.seconds)


def last_traceback(log: str) -> str:
    """The last traceback of a Python program in a log; "" where there is none."""
    found = list(re.finditer(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*\S.*$", log, re.MULTILINE))
    return found[-1][0] if found else ""


def _read(line: str) -> dict[str, Any] | None:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _free_port() -> int:
    with socket.socket() as free:
        free.bind((_HOST, 0))
        return int(free.getsockname()[1])
