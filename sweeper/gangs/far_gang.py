"""The far end of a gang, in a process on the gang's host: plain values in, lines out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from engine.protocol import encode
from sweeper.gangs.base import Job
from sweeper.gangs.command_gang import CommandGang
from sweeper.gangs.gang import Gang, open_gang

_TUPLES = ("cores", "gpus", "granted")  # which JSON has made lists of


class FarGang:
    """Owns one MPI job. `environment` is what ranks need of the submitter's."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        os.environ.update(environment)
        self._gang: Gang | CommandGang | None = None

    def open(self, job: dict[str, Any]) -> None:
        """Start the MPI job. Raises LaunchError where it cannot be started."""
        self._gang = open_gang(job_here(job))

    def run(self, job: dict[str, Any]) -> Iterator[tuple[str, str, float, str]]:
        """See `Gang.run`; each event as the gang's id and log, the elapsed seconds, and a line of the protocol."""
        assert self._gang
        for event in self._gang.run(job_of(job)):
            yield event.gang_id, event.log, event.elapsed_s, encode(event.event)

    def alive(self) -> bool:
        """See `Gang.alive`."""
        return self._gang is not None and self._gang.alive()

    def stop(self, trial_id: str) -> None:
        """See `Gang.stop`."""
        if self._gang:
            self._gang.stop(trial_id)

    def close(self) -> None:
        """See `Gang.close`."""
        if self._gang:
            self._gang.close()


def job_here(plain: dict[str, Any]) -> Job:
    """The same with the GPUs that this process may use, as Ray or SLURM has set them for it."""
    job = job_of(plain)
    if job.gpus is not None:
        return job
    # Without a GPU they may leave the variable as it is.
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if job.need.gpus else []
    return replace(job, gpus=tuple(visible))


def job_of(plain: dict[str, Any]) -> Job:
    """A job again, of what JSON has left of it."""
    tuples = {name: tuple(plain[name]) for name in _TUPLES if plain[name] is not None}
    return Job(**{**plain, **tuples})
