"""One running MPI job of the engine's workers, which serves trials one after another."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator

from engine.protocol import (
    Ended,
    Event,
    Exit,
    Failed,
    Prepare,
    Ready,
    Stop,
    Train,
    decode_event,
    encode,
)
from sweeper.gangs.base import Job, JobEvent
from sweeper.gangs.command_gang import CommandGang
from sweeper.gangs.hosts import Hosts
from sweeper.gangs.launcher import WORKER
from sweeper.gangs.mpi_job import MpiJob, last_words, stacks, tail
from sweeper.gangs.watchdog import Watchdog

_LEAVE_S = 10.0


class Gang:
    """An MPI job of `job.workers` ranks, on this host or over `hosts`; serves one job at a time, any number in all.

    Not safe for several threads, but for `stop` and `kill`, which may come from another one while `run` is going on.

    Raises:
        LaunchError: there is no mpiexec, or it cannot be started.
    """

    def __init__(self, job: Job, hosts: Hosts | None = None) -> None:
        self._mpi = MpiJob(job, [sys.executable, *WORKER], hosts=hosts)
        self._ready: Ready | None = None
        self._running = ""
        self.came_up_ahead = False

    @property
    def id(self) -> str:
        """Names this gang in the store."""
        return self._mpi.id

    def prepare(self, job: Job) -> None:
        """Have ready what the job needs, before the gang's seats are free; its times then begin with its first job."""
        self.came_up_ahead = True
        self._mpi.send(encode(Prepare(job.config)))

    def run(self, job: Job) -> Iterator[JobEvent]:
        """Train a job; its events as they come, ending with Ended or Failed. After Failed the gang is gone."""
        begun = time.monotonic() if self._ready or self.came_up_ahead else self._mpi.begun
        self._running = job.trial_id
        if self._ready:
            yield self._mpi.wrapped(job, self._ready, begun)
        watchdog = Watchdog(job.limit_s, job.stall_s, self._pids_here, self._mpi.end)
        self._mpi.send(encode(Train(job.trial_id, job.config, job.checkpoints)))
        ended = failure = None
        with watchdog.watching():
            for event in self._heard(job, watchdog):
                if isinstance(event, Ended):
                    ended = event
                    break
                if isinstance(event, Ready) and (failure := self._mpi.wrong_launcher(job.trial_id, event.ranks)):
                    break
                yield self._mpi.wrapped(job, event, begun)
        if ended:
            yield self._mpi.wrapped(job, ended, begun)
            return
        failure = failure or self._failure(job.trial_id, watchdog.reason)
        self.kill()
        yield self._mpi.wrapped(job, failure, begun)

    def _heard(self, job: Job, watchdog: Watchdog) -> Iterator[Event]:
        """What the gang says of a job, up to its end or the gang's."""
        for line in self._mpi.lines():
            event = decode_event(line)
            if event is None:
                if line.strip():
                    self._mpi.keep(line)
                continue
            watchdog.alive()
            if isinstance(event, Ready):
                self._ready = event
                self._mpi.note_members(event.pids)
            elif not _concerns(event, job.trial_id):
                continue
            if isinstance(event, Ended):
                self._running = ""
            yield event

    def alive(self) -> bool:
        """Whether all of the job's processes that it came up with still run."""
        return self._mpi.alive()

    def stop(self, trial_id: str) -> None:
        """Ask the running trial to end at its next loss point."""
        if self._running == trial_id:
            self._mpi.send(encode(Stop(trial_id)))

    def close(self) -> None:
        """Let an idle gang leave by itself; kill it when it does not, or is busy."""
        if not self._running:
            self._mpi.send(encode(Exit()))
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._mpi.process.wait(timeout=_LEAVE_S)
        self.kill()

    def kill(self) -> None:
        """End the job now, to its last process and its last piece of shared memory."""
        self._mpi.kill()

    def _pids(self) -> list[int]:
        return self._ready.pids if self._ready else []

    def _pids_here(self) -> list[int]:
        return self._mpi.on_this_host(self._pids())

    def _failure(self, trial_id: str, overdue: str) -> Failed:
        rank, how = self._mpi.death(self._pids())
        said, log = tail(self._mpi.log), self._mpi.log_name
        if self._mpi.lost_host:  # ranks on other hosts may complain of it
            return Failed(trial_id, f"{how}; see {log}", host=self._mpi.lost_host)
        if overdue:
            return Failed(trial_id, f"{overdue}; where its ranks were is in {log}", None, stacks(said))
        speaker, traceback = last_words(said)
        if traceback:
            return Failed(trial_id, f"rank {speaker}: {traceback.splitlines()[-1]}; see {log}", speaker, traceback)
        return Failed(trial_id, f"{how}; see {log}", rank)


def open_gang(job: Job, hosts: Hosts | None = None) -> Gang | CommandGang:
    """A new gang of the kind that `job` needs, with it as the first. Raises LaunchError where it cannot be started."""
    return CommandGang(job, hosts) if job.is_command else Gang(job, hosts)


def _concerns(event: Event, trial_id: str) -> bool:
    return not isinstance(event, Ready) and event.trial == trial_id
