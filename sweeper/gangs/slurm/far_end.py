"""What runs in a job step: owns the gang there, and does what the executor asks for on standard input.

The end of standard input ends the gang, and so does SLURM's signal that the step is over.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from sweeper.gangs.calls.far import READY, Answers, serve
from sweeper.gangs.far_gang import FarGang


class StepEnd:
    """The gang of a step, by the names that the other end calls."""

    def __init__(self, gang: FarGang) -> None:
        self._gang = gang
        self.methods = {method.__name__: method for method in (self.open, self.run, self.alive, self.stop, self.close)}

    def open(self, job: dict[str, Any]) -> Iterator[str]:
        """Start the MPI job, its ranks on cores of their own where SLURM keeps the step to some."""
        yields_cores = job["gpus"] is None and not job["granted"] and not job["gpus_per_worker"]
        self._gang.open({**job, "cores": _own_cores()} if yields_cores else job)
        yield "open"

    def run(self, job: dict[str, Any]) -> Iterator[tuple[str, str, float, str]]:
        """See `FarGang.run`."""
        return self._gang.run(job)

    def alive(self) -> Iterator[bool]:
        """See `FarGang.alive`."""
        yield self._gang.alive()

    def stop(self, trial_id: str) -> Iterator[None]:
        """See `FarGang.stop`."""
        self._gang.stop(trial_id)
        yield None

    def close(self) -> Iterator[None]:
        """See `FarGang.close`."""
        self._gang.close()
        yield None


def _own_cores() -> list[int]:
    """The cores that SLURM has bound this step to; none where the step may use all of the node."""
    cores = sorted(os.sched_getaffinity(0))
    return cores if len(cores) < (os.cpu_count() or 1) else []


def main() -> None:
    """Do what is asked for on standard input, until its end or a signal."""
    signal.signal(signal.SIGINT, lambda *_: None)  # a handler, which what we start does not inherit
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    answers = Answers.on_standard_output()
    with closing(FarGang({})) as gang:
        answers.answer(READY, lambda: iter([socket.gethostname()]))
        serve(StepEnd(gang).methods, sys.stdin, answers)


if __name__ == "__main__":
    main()
