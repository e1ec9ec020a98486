"""A real MPI job for a test, gone when the test is over."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from sweeper.gangs.launcher import find_launcher

ROOT = Path(__file__).parents[1]


@contextlib.contextmanager
def mpi_job(
    ranks: int, *arguments: str, stderr: int = subprocess.PIPE, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """`python -m mpi4py ARGUMENTS` on some ranks, in the project's folder; killed at the end."""
    launcher = find_launcher()
    process = subprocess.Popen(
        launcher.command(ranks, [sys.executable, "-m", "mpi4py", *arguments]),
        cwd=ROOT,
        # Ranks may be more than cores: one that waits must let the others go on.
        env={**launcher.environment(os.environ, 1), "MPIR_CVAR_POLLS_BEFORE_YIELD": "1", **(environment or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
