"""Programs that run on several ranks of this host and tell what they found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from sweeper.gangs.launcher import find_launcher


def told_by_ranks(ranks: int, module: str, arguments: Sequence[str], *, crowded: bool) -> Any:
    """What rank 0 of `python -m module arguments` prints as JSON; `crowded` where ranks may be more than cores.

    Raises:
        LaunchError: there is no mpiexec.
        CalledProcessError: a rank has failed; what it said is on standard error.
    """
    launcher = find_launcher()
    command = launcher.command(ranks, [sys.executable, "-m", "mpi4py", "-m", module, *arguments])
    environment = launcher.environment(os.environ, 1, crowded=crowded)
    said = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(said)
