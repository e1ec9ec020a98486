"""A running MPI job from outside: its pipes, its log, its end."""

from __future__ import annotations

import codecs
import contextlib
import io
import re
import subprocess
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import psutil

from engine.protocol import LAST_WORDS, Event, Failed
from engine.shared_memory import mapped_segments, remove_segments
from sweeper.gangs.base import Job, JobEvent
from sweeper.gangs.hosts import Hosts, Lost, Share, on_any_host, read_commands
from sweeper.gangs.launcher import find_launcher, rank_environment, wrong_launcher
from sweeper.gangs.processes import OWNER_VARIABLE, end_job, family, owner_tag

_TAIL_BYTES = 64 * 1024
_PIECE_BYTES = 64 * 1024
_LONGEST_LINE = 1024 * 1024  # characters, of an event far fewer
_NOISE_LINES, _NOISE_LENGTH = 20, 2_000


class MpiJob:
    """`program` on `job.workers` ranks of this host, in `folder` where one is named, with `variables` besides.

    It leads a session of its own: an interrupt at the terminal does not reach it. With `hosts` its ranks sit on them.

    Raises:
        LaunchError: there is no mpiexec, or it cannot be started.
    """

    def __init__(
        self,
        job: Job,
        program: Sequence[str],
        variables: Mapping[str, str] | None = None,
        folder: str | None = None,
        hosts: Hosts | None = None,
    ) -> None:
        self.id = uuid.uuid4().hex[:12]
        self.log, self.log_name = Path(job.log_here or job.log), job.log
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.begun = time.monotonic()
        launcher = find_launcher()
        self._ranks, self._mpiexec = job.workers, launcher.mpiexec
        self._hosts, self._lost = hosts, Lost("")
        self._share: Share | None = None
        variables = {OWNER_VARIABLE: owner_tag(job.sweep_id), **(variables or {})}
        environment = rank_environment(launcher, job, variables)
        if hosts:
            places = [(place.address, place.ranks) for place in hosts.places]
            command = launcher.command_over(places, on_any_host(program), folder or "/")
        else:
            command = launcher.command(job.workers, program)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                # As UTF-8, whatever the locale's encoding can express.
                env={name: value.encode("utf-8", "surrogateescape") for name, value in environment.items()},
                cwd=folder,
                start_new_session=True,
            )
        self._members: list[psutil.Process] = []
        self._segments: set[Path] = set()
        self._noise: list[str] = []
        self._ending = threading.Lock()
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._lines: deque[str] = deque()  # heard, and not told yet
        self._unended = ""
        if hosts:
            try:
                self._begin_on(hosts, job, variables)
            except BaseException:
                self.kill()
                raise

    def _begin_on(self, hosts: Hosts, job: Job, variables: Mapping[str, str]) -> None:
        """Have each host start its share of the ranks: this one is the first."""
        output = cast(io.BufferedReader, self.process.stdout)
        first, *others = read_commands(output, len(hosts.places))
        self._share = Share(job, first, variables, hosts.places[0].address)
        hosts.start(others, variables, self._lose)

    def _lose(self, lost: Lost) -> None:
        """A host is lost, and the job with it; unless it has ended by itself, for a better reason."""
        if self.process.poll() is None and not self._lost.reason:
            self._lost = lost
        self.end()

    def _processes(self) -> list[psutil.Process]:
        """All processes of the job on this host."""
        return [*family(self.process.pid), *(self._share.processes() if self._share else [])]

    def pieces(self) -> Iterator[str]:
        """What the ranks say on standard output as it comes, until the job has ended or was ended."""
        output = cast(io.BufferedReader, self.process.stdout)
        with contextlib.suppress(ValueError):  # closed by kill
            while piece := output.read1(_PIECE_BYTES):
                yield self._decoder.decode(piece)

    def lines(self) -> Iterator[str]:
        """The same, line by line; one that is longer than `_LONGEST_LINE` in parts. Goes on where it was left."""
        yield from self._whole_lines()
        for piece in self.pieces():
            *lines, self._unended = (self._unended + piece).split("\n")
            self._lines.extend(lines)
            yield from self._whole_lines()
            if len(self._unended) > _LONGEST_LINE:
                yield self._last_line()
        yield self._last_line()

    def _whole_lines(self) -> Iterator[str]:
        while self._lines:
            yield self._lines.popleft()

    def _last_line(self) -> str:
        last, self._unended = self._unended, ""
        return last

    def send(self, line: str) -> None:
        """A line to rank 0's standard input. To a job that has died it goes nowhere: its output ends, and tells."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):
            self.process.stdin.write(f"{line}\n".encode())
            self.process.stdin.flush()

    def keep(self, line: str) -> None:
        """A line that is for nobody: for the log, and for the reason should it be mpiexec's own word on a death."""
        self._noise = [*self._noise, line.rstrip()[:_NOISE_LENGTH]][-_NOISE_LINES:]
        with self.log.open("a", encoding="utf-8") as log:
            log.write(line if line.endswith("\n") else line + "\n")

    def note_members(self, pids: Sequence[int]) -> None:
        """All ranks are up: remember what belongs to the job, should mpiexec die before them."""
        self._members = self._processes()
        self._segments = mapped_segments(self.on_this_host(pids))

    def on_this_host(self, pids: Sequence[int]) -> list[int]:
        """Those of the ranks that are this host's: other hosts' numbers may be anybody's here."""
        members = {member.pid for member in self._members}
        return [pid for pid in pids if not self._hosts or pid in members]

    def alive(self) -> bool:
        """Whether all processes that were noted still run."""
        return self.process.poll() is None and all(member.is_running() for member in self._members)

    def end(self) -> None:
        """End all processes, and leave the pipes to who reads them; safe from any thread."""
        # Of a user's program only now: its MPI may have come up at any time.
        self._segments |= mapped_segments([process.pid for process in self._processes()])
        end_job(self.process, self._members)
        if self._share:
            self._share.end()
        if self._hosts:
            self._hosts.end()

    def kill(self) -> None:
        """End the job now, to its last process and its last piece of shared memory; safe from any thread."""
        with self._ending:
            self.end()
            remove_segments(self._segments)
            for pipe in (self.process.stdin, self.process.stdout):
                with contextlib.suppress(OSError, ValueError):
                    if pipe and not pipe.closed:
                        pipe.close()

    def death(self, pids: Sequence[int]) -> tuple[int | None, str]:
        """The guilty rank, where mpiexec names one, and how the job ended, in words; `pids` are the ranks'."""
        code = self.process.wait()
        if self._hosts and not self._lost.reason:  # mpiexec may have missed a host before we did
            self._lost = self._hosts.missing() or self._lost
        if self._lost.reason:
            return None, self._lost.reason
        guilty, signal = killed("\n".join([*self._noise, tail(self.log)]), pids)
        who = f"rank {guilty}" if guilty is not None else "the MPI job"
        how = f"was killed by signal {signal}" if signal else f"ended with exit code {code}"
        return guilty, f"{who} {how}"

    @property
    def lost_host(self) -> str:
        """The host, by its address, that was lost with the job; "" where none was. Known once `death` was asked."""
        return self._lost.host

    def wrong_launcher(self, trial_id: str, worlds_of: int) -> Failed | None:
        """The failure of a job whose ranks see worlds of so many ranks; None where that is the job's number."""
        if worlds_of == self._ranks:
            return None
        reason, remedy = wrong_launcher(self._mpiexec, self._ranks, worlds_of)
        return Failed(trial_id, reason, remedy=remedy)

    def wrapped(self, job: Job, event: Event, begun: float) -> JobEvent:
        """An event of `job`, begun at that time of time.monotonic."""
        return JobEvent(job.trial_id, job.attempt, event, self.id, self.log_name, time.monotonic() - begun)


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
