"""Which kind of gang a job needs."""

from __future__ import annotations

from sweeper.gangs.base import Job
from sweeper.gangs.command_gang import CommandGang
from sweeper.gangs.gang import Gang


def open_gang(job: Job) -> Gang | CommandGang:
    """A new gang for `job`, as its first. Raises LaunchError where it cannot be started."""
    return CommandGang(job) if job.is_command else Gang(job)
