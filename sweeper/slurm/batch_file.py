"""The text of an sbatch file that runs a sweep inside the allocation."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from string import Template

from sweeper.errors import UsageError
from sweeper.slurm.allocation import Allocation

MOST_REQUEUES = 100
_WARNING_S = 120  # before the time limit; SLURM may send the signal up to a minute early
_PASSWORD = re.compile(r"://[^/@:]*:[^/@]+@")
_UNPRINTED = re.compile(r"[^\w.+-]+", re.ASCII)
_FOLDER = Path(__file__).parent
_TEXT = Template((_FOLDER / "batch_file.sh").read_text(encoding="utf-8"))
EXECUTORS = ("slurm", "ray")


@dataclass(frozen=True)
class BatchFile:
    """A sweep as a batch job. `spec` is the path of its file, `overrides` as `sweeper run --set` takes them.

    `executor` is one of `EXECUTORS`: gangs are job steps, or run on a Ray that the job starts.
    """

    name: str
    spec: Path
    overrides: tuple[str, ...]
    store_url: str
    allocation: Allocation
    executor: str = EXECUTORS[0]

    def text(self) -> str:
        """The file: a bash script that sbatch takes.

        Raises:
            UsageError: the store's URL holds a password, which others could read in the file.
        """
        if _PASSWORD.search(self.store_url):
            raise UsageError(
                "--store: the file would show the store's password", "write `?password_file=FILE` instead, in the URL"
            )
        options = [word for override in self.overrides for word in ("--set", override)]
        return _TEXT.substitute(
            directives="\n".join(f"#SBATCH {directive}" for directive in self._directives()),
            python=shlex.quote(sys.executable),
            spec=shlex.quote(str(self.spec)),
            options=shlex.join(options),
            store=shlex.quote(self.store_url),
            gangs=(_FOLDER / f"gangs_on_{self.executor}.sh").read_text(encoding="utf-8").rstrip(),
            most_requeues=MOST_REQUEUES,
        )

    def _directives(self) -> list[str]:
        given = self.allocation
        directives = [
            f"--job-name={_UNPRINTED.sub('-', self.name)[:64]}",
            f"--nodes={given.nodes}",
            "--ntasks-per-node=1",
            f"--cpus-per-task={given.cpus_per_node}",
        ]
        if given.gpus_per_node:
            directives.append(f"--gpus-per-node={given.gpus_per_node}")
        if given.time_s is not None:
            directives.append(f"--time={_as_time(given.time_s)}")
        for option, value in (("partition", given.partition), ("account", given.account)):
            if value is not None:
                directives.append(f"--{option}={value}")
        return [*directives, "--requeue", "--open-mode=append", f"--signal=B:USR1@{self._warning_s()}"]

    def _warning_s(self) -> int:
        time_s = self.allocation.time_s
        return _WARNING_S if time_s is None else min(_WARNING_S, time_s // 4)


def _as_time(seconds: int) -> str:
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{days}-{hours:02}:{minutes:02}:{seconds:02}"
