"""One running MPI job that serves trials one after another: its pipes, its log, its end."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from engine.protocol import (
    LAST_WORDS,
    Command,
    Ended,
    Event,
    Exit,
    Failed,
    Ready,
    Stop,
    Train,
    decode_event,
    encode,
)
from engine.shared_memory import mapped_segments, remove_segments
from sweeper.gangs.base import Job, JobEvent
from sweeper.gangs.launcher import WORKER, find_launcher
from sweeper.gangs.processes import end_job, family
from sweeper.gangs.watchdog import Watchdog

_LEAVE_S = 10.0
_TAIL_BYTES = 64 * 1024
_NOISE_LINES = 20


class Gang:
    """An MPI job of `job.workers` ranks; serves one job at a time, any number in all.

    Not safe for several threads, but for `stop` and `kill`, which may come from another one while `run` is going on.
    The job leads a session of its own: an interrupt at the terminal does not reach it.

    Raises:
        LaunchError: there is no mpiexec, or it cannot be started.
    """

    def __init__(self, job: Job, gpus: Sequence[str] | None) -> None:
        self.id = uuid.uuid4().hex[:12]
        self._log = Path(job.log)
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._begun = time.monotonic()
        launcher = find_launcher()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                launcher.command(job.workers, [sys.executable, *WORKER]),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=launcher.environment(os.environ, job.cpus_per_worker, gpus),
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        self._ready: Ready | None = None
        self._members: list[psutil.Process] = []
        self._segments: set[Path] = set()
        self._noise: list[str] = []
        self._running = ""

    def run(self, job: Job) -> Iterator[JobEvent]:
        """Train a job; its events as they come, ending with Ended or Failed. After Failed the gang is gone."""
        begun = time.monotonic() if self._ready else self._begun
        self._running = job.trial_id
        if self._ready:
            yield self._wrapped(job, self._ready, begun)
        watchdog = Watchdog(job.limit_s, job.stall_s, lambda: self._ready.pids if self._ready else [], self._end)
        self._send(Train(job.trial_id, job.config, job.checkpoints))
        ended = None
        with watchdog.watching():
            for event in self._heard(job, watchdog):
                if isinstance(event, Ended):
                    ended = event
                    break
                yield self._wrapped(job, event, begun)
        if ended:
            yield self._wrapped(job, ended, begun)
            return
        failure = self._failure(job.trial_id, watchdog.reason)
        self.kill()
        yield self._wrapped(job, failure, begun)

    def _heard(self, job: Job, watchdog: Watchdog) -> Iterator[Event]:
        """What the gang says of a job, up to its end or the gang's."""
        for event in self._read():
            watchdog.alive()
            if isinstance(event, Ready):
                self._ready = event
                self._members = family(self._process.pid)
                self._segments = mapped_segments(event.pids)
            elif not _concerns(event, job.trial_id):
                continue
            if isinstance(event, Ended):
                self._running = ""
            yield event

    def alive(self) -> bool:
        """Whether all of the job's processes that it came up with still run."""
        return self._process.poll() is None and all(member.is_running() for member in self._members)

    def stop(self, trial_id: str) -> None:
        """Ask the running trial to end at its next loss point."""
        if self._running == trial_id:
            self._send(Stop(trial_id))

    def close(self) -> None:
        """Let an idle gang leave by itself; kill it when it does not, or is busy."""
        if not self._running:
            self._send(Exit())
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=_LEAVE_S)
        self.kill()

    def _end(self) -> None:
        end_job(self._process, self._members)

    def kill(self) -> None:
        """End the job now, to its last process and its last piece of shared memory."""
        self._end()
        remove_segments(self._segments)
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError, ValueError):
                if pipe and not pipe.closed:
                    pipe.close()

    def _send(self, command: Command) -> None:
        assert self._process.stdin is not None
        # A gang that has died cannot be written to; its death is seen where its output ends.
        with contextlib.suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(encode(command) + "\n")
            self._process.stdin.flush()

    def _read(self) -> Iterator[Event]:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError):  # closed by kill
            for line in self._process.stdout:
                event = decode_event(line)
                if event is not None:
                    yield event
                elif line.strip():
                    self._keep(line)

    def _keep(self, line: str) -> None:
        """What is no event is the MPI's own word on a death: for the log and the reason."""
        self._noise = [*self._noise, line.rstrip()][-_NOISE_LINES:]
        with self._log.open("a", encoding="utf-8") as log:
            log.write(line)

    def _failure(self, trial_id: str, overdue: str) -> Failed:
        code = self._process.wait()
        if overdue:
            return Failed(trial_id, f"{overdue}; where its ranks were is in {self._log}", None, stacks(tail(self._log)))
        rank, traceback = last_words(tail(self._log))
        if traceback:
            return Failed(trial_id, f"rank {rank}: {traceback.splitlines()[-1]}; see {self._log}", rank, traceback)
        said = "\n".join([*self._noise, tail(self._log)])
        guilty, signal = killed(said, self._ready.pids if self._ready else [])
        who = f"rank {guilty}" if guilty is not None else "the MPI job"
        how = f"was killed by signal {signal}" if signal else f"ended with exit code {code}"
        return Failed(trial_id, f"{who} {how}; see {self._log}", guilty)

    def _wrapped(self, job: Job, event: Event, begun: float) -> JobEvent:
        return JobEvent(job.trial_id, job.attempt, event, self.id, str(self._log), time.monotonic() - begun)


def _concerns(event: Event, trial_id: str) -> bool:
    return not isinstance(event, Ready) and event.trial == trial_id


def tail(path: Path) -> str:
    """The last 64 KiB of a log."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return file.read().decode("utf-8", errors="replace")


def last_words(log: str) -> tuple[int | None, str]:
    """The rank that raised first, and its traceback; (None, "") where no rank said anything."""
    found = re.findall(rf"^{LAST_WORDS} (\d+): (.*)$", log, flags=re.MULTILINE)
    if not found:
        return None, ""
    first = found[0][0]
    lines = [text for rank, text in found if rank == first]
    # A gang that outlived an earlier failure does not exist, but a log may be appended to: keep the last traceback.
    starts = [i for i, line in enumerate(lines) if line.startswith("Traceback ")]
    return int(first), "\n".join(lines[starts[-1] :] if starts else lines)


def stacks(log: str) -> str:
    """Where the threads of ranks were, as they wrote it last; "" where they did not."""
    starts = [found.start() for found in re.finditer(r"^(Current thread|Thread) 0x", log, flags=re.MULTILINE)]
    return log[starts[0] :] if starts else ""


def killed(said: str, pids: Sequence[int]) -> tuple[int | None, int | None]:
    """Rank and signal in an mpiexec's report of a death, as MPICH or Open MPI words it; None where unsaid.

    MPICH names the dead by process, `pids` are those of the ranks in their order.
    """
    if openmpi := re.search(r"process rank (\d+) with PID \d+ on node \S+ exited on\s+signal (\d+)", said):
        return int(openmpi[1]), int(openmpi[2])
    dead, signal = re.search(r"PID (\d+) RUNNING AT", said), re.search(r"\(signal (\d+)\)", said)
    rank = pids.index(int(dead[1])) if dead and int(dead[1]) in pids else None
    return rank, int(signal[1]) if signal else None
