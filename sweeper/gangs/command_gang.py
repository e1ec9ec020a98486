"""One running MPI job of a user's own program, for one trial: what its ranks say, as events."""

from __future__ import annotations

import json
import platform
import random
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine import rank
from engine.protocol import Ended, Event, Failed, Ready, Started
from sweeper import reporting
from sweeper.errors import LaunchError
from sweeper.gangs.base import Job, JobEvent
from sweeper.gangs.hosts import Hosts
from sweeper.gangs.mpi_job import MpiJob, tail
from sweeper.gangs.printed_losses import PrintedLosses
from sweeper.gangs.program_output import Item, ProgramOutput, Said, Unread, Words, without_escapes
from sweeper.gangs.reports import Reports
from sweeper.gangs.watchdog import Watchdog
from sweeper.spec.command import CommandConfig

_PORTS = range(20_000, 30_000)
_ONE_HOST = "127.0.0.1"
# Its last line ends, and is not the first one of another rank's.
_TRACEBACK = re.compile(
    r"^Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*(?!Traceback \()\S.*(?=\n)", re.MULTILINE
)
_OF_RANK = re.compile(r"^\[rank\d+\]: ", re.MULTILINE)  # torch's, before each line of a rank's traceback
# A notice of mpiexec: text between two rules, or after a last one.
_NOTICE = re.compile(r"^([-=])\1{29,}\n(.*?)(?:^\1{30,}$|\Z)", re.MULTILINE | re.DOTALL)
_LAUNCHERS = re.compile(r"mpiexec|mpirun|prterun|Primary job|BAD TERMINATION|MPI_A", re.IGNORECASE)
_UNCAUGHT = 1  # Python's exit code after an exception that nobody caught
_LAST_LINES = 3  # that the reason for a trial without a loss shows
_SHOWN = 200  # characters of a program's own words
_LOOK_S = 0.02
_LAST_WORDS_S = 0.5  # what other ranks get to say once one has failed


class CommandGang:
    """A command on `job.workers` ranks, on this host or over `hosts`; serves the one job that it was made for.

    Raises:
        LaunchError: there is no mpiexec, or it cannot be started.
    """

    def __init__(self, job: Job, hosts: Hosts | None = None) -> None:
        self._job, self._config = job, CommandConfig.model_validate(job.config)
        self._words = self._config.words(job.workers)
        first = hosts.places[0].address if hosts else _ONE_HOST
        port, self._port_mark = _free_port(first)
        variables = {
            "MASTER_ADDR": first,
            "MASTER_PORT": str(port),
            reporting.TRIAL_VARIABLE: job.trial_id,
            **self._config.variables(job.workers),
            rank.COMMAND_VARIABLE: json.dumps(self._words),
            **({rank.ALL_OUTPUT_VARIABLE: "1"} if self._config.report else {}),
        }
        program = [sys.executable, str(Path(rank.__file__))]  # which puts this Python first on the path
        try:
            self._mpi = MpiJob(job, program, variables, self._config.folder or None, hosts)
        except BaseException:
            self._port_mark.close()
            raise
        self._ranks: dict[int, dict[str, Any]] = {}  # of each rank: its process and host, and in the end its exit code
        self._early: list[tuple[dict[str, Any], float]] = []  # reports from before all ranks were up, and when
        self._reports = Reports(job.trial_id)
        self._printed = PrintedLosses(self._config.report) if self._config.report else None
        self._up = self._stopped = self._over = False
        self._failure: Failed | None = None
        self._watchdog: Watchdog | None = None

    def run(self, job: Job) -> Iterator[JobEvent]:
        """Run the command; its events as they come, ending with Ended or Failed, after which nothing of it is left."""
        # The signal by which our own ranks tell where they are would end a program that does not know of it.
        watchdog = self._watchdog = Watchdog(job.limit_s, job.stall_s, list, self._mpi.end)
        with watchdog.watching():
            for item in self._said():
                for event in self._heard(item):
                    watchdog.alive()
                    yield self._mpi.wrapped(job, event, self._mpi.begun)
        self._over = True
        end = self._end(watchdog.reason)
        self.close()
        yield self._mpi.wrapped(job, end, self._mpi.begun)

    def alive(self) -> bool:
        """Whether another job may come: none does."""
        return False

    def stop(self, trial_id: str) -> None:
        """End the command now: it has no loss points at which it would ask. What it has reported stays."""
        if self._job.trial_id == trial_id and not self._over:
            self._stopped = True
            self._end_soon(0.0)

    def close(self) -> None:
        """End it now, to its last process."""
        self._mpi.kill()
        self._port_mark.close()

    def _said(self) -> Iterator[Item]:
        output = ProgramOutput()
        for piece in self._mpi.pieces():
            yield from output.feed(piece)
        yield from output.end()

    def _heard(self, item: Item) -> Iterator[Event]:
        match item:
            case Said(key=rank.KEY, content=said) if self._is_of_rank(said):
                yield from self._heard_of_rank(said)
            case Said(key=reporting.KEY, content=report):
                yield from self._heard_of_training(report, time.monotonic())
            case Unread():
                self._reports.miss(item.text)
            case Said() | Words():
                self._mpi.keep(item.text)
                if self._printed and (printed := self._printed.report(without_escapes(item.text))):
                    yield from self._heard_of_training(printed, time.monotonic())

    def _is_of_rank(self, said: dict[str, Any]) -> bool:
        number = said[rank.KEY]
        return isinstance(number, int) and 0 <= number < self._job.workers

    def _heard_of_training(self, report: dict[str, Any], came: float) -> Iterator[Event]:
        if not self._up:
            self._early.append((report, came))
            return
        try:
            point = self._reports.point(report, came)
        except ValueError as problem:
            if not self._failure:
                self._failure = Failed(self._job.trial_id, f"rank 0: {problem}; see {self._mpi.log_name}", 0)
                self._end_soon(0.0)
            return
        if point:
            yield point
            if self._reports.diverged:
                self._end_soon(0.0)

    def _heard_of_rank(self, said: dict[str, Any]) -> Iterator[Event]:
        number = said[rank.KEY]
        self._ranks.setdefault(number, {}).update(said)
        if wrong := self._mpi.wrong_launcher(self._job.trial_id, said.get("size", self._job.workers)):
            if not self._failure:
                self._failure = wrong
                self._end_soon(0.0)
            return
        if "pid" in said and number == 0:
            self._reports.begin()
        if "pid" in said and len(self._pids()) == self._job.workers:
            self._mpi.note_members(self._pids())
            hosts = [self._ranks[n]["host"] for n in sorted(self._ranks)]
            yield Ready(self._job.workers, self._pids(), hosts, {"python": platform.python_version()})
            yield Started(self._job.trial_id, 0.0, {"command": self._words})
            self._up = True
            for report, came in self._early:
                yield from self._heard_of_training(report, came)
        # Ranks that the watchdog has ended fail for that.
        if said.get("code") and not self._failure and not (self._watchdog and self._watchdog.reason):
            self._failure = self._failed(said)
            self._end_soon(_LAST_WORDS_S)
        elif self._codes() == [0] * self._job.workers:
            self._end_soon(_LAST_WORDS_S)  # what a program has left in the background does not count

    def _failed(self, said: dict[str, Any]) -> Failed:
        """What a rank's end with this code means. The log is read now: others will fail for want of this one."""
        number, code, log = said[rank.KEY], said["code"], self._mpi.log_name
        traceback = self._awaited_traceback() if code == _UNCAUGHT else ""
        what = traceback.splitlines()[-1] if traceback else said.get("error") or self._ended_with(code)
        return Failed(self._job.trial_id, f"rank {number}: {what}; see {log}", number, traceback)

    def _awaited_traceback(self) -> str:
        """A traceback comes by standard error, and so may come after the word of its rank's end, which does not."""
        until = time.monotonic() + _LAST_WORDS_S
        while not (found := last_traceback(tail(self._mpi.log))) and time.monotonic() < until:
            time.sleep(_LOOK_S)
        return found

    def _ended_with(self, code: int) -> str:
        """An exit code, with what the log says last: a program that leaves by itself mostly says why."""
        last = last_line(tail(self._mpi.log))
        return f"ended with exit code {code}" + (f", after {last[:_SHOWN]!r}" if last else "")

    def _pids(self) -> list[int]:
        return [self._ranks[number]["pid"] for number in sorted(self._ranks) if "pid" in self._ranks[number]]

    def _codes(self) -> list[int | None]:
        return [self._ranks.get(number, {}).get("code") for number in range(self._job.workers)]

    def _end_soon(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self._mpi.end)
        timer.daemon = True
        timer.start()

    def _end(self, overdue: str) -> Ended | Failed:
        """How the trial has ended, with what was not read of its reports."""
        end, unread = self._end_of_ranks(overdue), self._reports.unread_words()
        if not unread:
            return end
        reason = f"{end.reason}; {unread}" if end.reason else f"{unread}; see {self._mpi.log_name}"
        return replace(end, reason=reason)

    def _end_of_ranks(self, overdue: str) -> Ended | Failed:
        trial, log, last = self._job.trial_id, self._mpi.log_name, self._reports.last
        guilty, how = self._mpi.death(self._pids())
        at = (last.step, last.images or 0, last.seconds) if last else (0, 0, 0.0)
        if last and self._reports.diverged:
            return Ended(trial, "diverged", *at, reason=f"loss {last.loss}")
        if self._stopped:
            return Ended(trial, "stopped", *at)
        if self._mpi.lost_host:
            return Failed(trial, f"{how}; see {log}", host=self._mpi.lost_host)
        if self._failure:
            return self._failure
        if self._codes() == [0] * self._job.workers:
            if last:
                return Ended(trial, "completed", *at)
            if self._printed:
                unfit = " or ".join(f"trial.report.{name}, '{text}'" for name, text in self._printed.unmatched.items())
                ended = " / ".join(line[:_SHOWN] for line in told_lines(tail(self._mpi.log))[-_LAST_LINES:])
                what = f"no line that rank 0 printed fits {unfit}" if unfit else "no loss came after the first step"
                return Failed(trial, f"{what}; correct the pattern: the last lines are {ended!r}; see {log}")
            remedy = "call sweeper.report(loss=...) on rank 0, or print its line"
            if any(isinstance(item, Said) for item in ProgramOutput().feed(tail(self._mpi.log) + "\n")):
                remedy = "reports stand in its log: print them on rank 0's standard output, not on standard error"
            return Failed(trial, f"the command ended without a loss; {remedy}; see {log}")
        if overdue:
            return Failed(trial, f"{overdue}; see {log}")
        return Failed(trial, f"{how}; see {log}", guilty)


def last_traceback(log: str) -> str:
    """The last whole traceback of a Python program in a log, whose ranks write at once; "" where there is none."""
    return found[-1][0] if (found := list(_TRACEBACK.finditer(_OF_RANK.sub("", log)))) else ""


def last_line(log: str) -> str:
    """The last line of a log in which a program tells something; "" where there is none."""
    return (told_lines(log) or [""])[-1]


def told_lines(log: str) -> list[str]:
    """The lines of a log in which a program tells something. What mpiexec adds is not."""
    lines = _NOTICE.sub(lambda notice: "" if _LAUNCHERS.search(notice[2]) else notice[0], log).splitlines()
    return [line.strip() for line in lines if any(map(str.isalnum, line))]


def _free_port(address: str) -> tuple[int, socket.socket]:
    """A TCP port for rank 0, below those that systems give to connections, and the mark that it is taken.

    Rank 0 binds it only when it is ready to, so until the mark is closed it keeps other gangs off: a UDP socket at the
    same number, which no other gang on this host gets and which is in nobody's way.
    """
    for port in random.sample(_PORTS, len(_PORTS)):
        mark = socket.socket(type=socket.SOCK_DGRAM)
        try:
            mark.bind((address, port))
            with socket.socket() as tried:
                tried.bind((address, port))
        except OSError:
            mark.close()
        else:
            return port, mark
    raise LaunchError("no port from 20000 to 29999 is free", "end what holds them")
