"""Where sweeper keeps files beside the store: the one owner of these paths."""

from __future__ import annotations

import os
import re
from pathlib import Path

from sweeper.errors import UsageError

LOGS_VARIABLE = "SWEEPER_LOGS"


def logs_folder() -> Path:
    """Standard error of gangs, one file a gang: SWEEPER_LOGS, else sweeper-logs in the working folder."""
    return Path(os.environ.get(LOGS_VARIABLE, "sweeper-logs")).absolute()


def make_logs_folder() -> Path:
    """The folder of the logs, there and to be written.

    Raises:
        UsageError: it cannot be made or written.
    """
    folder = logs_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _no_folder(folder, error.strerror) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _no_folder(folder, "not to be written")
    return folder


def _no_folder(folder: Path, why: str | None) -> UsageError:
    return UsageError(f"{LOGS_VARIABLE}: {folder} cannot hold logs ({why})", "name a folder that can be written")


def gang_log(trial_id: str, attempt: int) -> Path:
    """The log of the gang that was started for an attempt."""
    return logs_folder() / trial_id.partition("-")[0] / f"{trial_id}-{attempt}.log"


def is_gang_log(path: Path) -> bool:
    """Whether a path is one that `gang_log` gives, in whatever folder of logs: a store may come from elsewhere."""
    return bool(re.fullmatch(rf"{re.escape(path.parent.name)}-\w+-\d+\.log", path.name))


def checkpoints_folder(trial_id: str) -> Path:
    """Where all attempts at a trial keep its checkpoints: beside its logs."""
    return logs_folder() / trial_id.partition("-")[0] / f"{trial_id}.checkpoints"


def scheduler_log(sweep_id: str) -> Path:
    """What the scheduler of a sweep says that a service runs."""
    return logs_folder() / sweep_id / "scheduler.log"
