"""The command as people start it, the store that it leaves, the processes that it must not."""

from __future__ import annotations

import io
import os
import sqlite3
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from sweeper.cli.main import main
from tests.processes import processes_with

TAG = "SWEEPER_TEST_TAG"  # in the environment of all that a test starts
CORES = len(os.sched_getaffinity(0))
# All cores for a worker, so that one gang serves all trials of one worker.
ONE_GANG = ["--set", f"resources.cpus_per_worker={CORES}"]
ENDLESS = ["--set", "trial.images=100000000", "--set", "trial.points=1000000"]


def begin(*arguments: str, command: tuple[str, ...] = (sys.executable, "-m", "sweeper.cli")) -> subprocess.Popen[str]:
    """The command in a process group of its own, as a shell starts it."""
    return subprocess.Popen(
        [*command, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )


def here(*arguments: str, code: int = 0) -> tuple[str, str]:
    """Standard output and standard error of the command in this process, which ends with this exit code.

    Starting a process of its own takes a second, and more where it loads torch or SciPy.
    """
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as exit_:
        main([*arguments])
    assert int(exit_.value.code or 0) == code, err.getvalue()
    return out.getvalue(), err.getvalue()


def others(tmp_path: Path) -> list[int]:
    """The processes that a test with this folder has started and that live."""
    return [p.pid for p in processes_with(TAG, str(tmp_path)) if p.pid != os.getpid()]


def rows(tmp_path: Path, query: str) -> list[tuple[Any, ...]]:
    """What the folder's store answers."""
    with sqlite3.connect(tmp_path / "sweeper.db") as connection:
        return list(connection.execute(query))


def number(tmp_path: Path, query: str) -> int:
    """The one number that the query asks for; 0 while the store or its tables are being made."""
    if not (tmp_path / "sweeper.db").exists():
        return 0
    try:
        ((found,),) = rows(tmp_path, query)
    except sqlite3.OperationalError:
        return 0
    assert isinstance(found, int)
    return found
