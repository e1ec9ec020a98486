"""Where sweeper keeps files beside the store: the one owner of these paths."""

from __future__ import annotations

import os
import re
from pathlib import Path

LOGS_VARIABLE = "SWEEPER_LOGS"


def logs_folder() -> Path:
    """Standard error of gangs, one file a gang: SWEEPER_LOGS, else sweeper-logs in the working folder."""
    return Path(os.environ.get(LOGS_VARIABLE, "sweeper-logs")).absolute()


def gang_log(trial_id: str, attempt: int) -> Path:
    """The log of the gang that was started for an attempt."""
    return logs_folder() / trial_id.partition("-")[0] / f"{safe_name(trial_id)}-{attempt}.log"


def safe_name(name: str) -> str:
    """A file name for any name: letters of every language, digits, points, dashes; never empty, never a path."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")[:100] or "unnamed"
