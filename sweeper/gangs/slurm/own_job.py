"""The SLURM job that this process belongs to: what it was given, and whether SLURM is ending it."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass

from sweeper.errors import LaunchError

VARIABLE = "SLURM_JOB_ID"
_ANSWER_S = 20.0  # a busy controller may take several seconds
_TRIES = 3
# States of a job that nobody has told to end. Every other one comes before the first signal to a process of the job.
_GOES_ON = {"CONFIGURING", "RESIZING", "RUNNING", "SIGNALING", "STOPPED", "SUSPENDED"}
_FIELD = re.compile(r"(?:^|\s)(\w+)=(\S*)")
_NODES = re.compile(r"\sNodes=(\S+) CPU_IDs=(\S+) Mem=\S* GRES=(\S*)")


@dataclass(frozen=True)
class Node:
    """A node of an allocation, with the cores and GPUs that the job was given there."""

    name: str
    cpus: int
    gpus: int


@dataclass(frozen=True)
class SlurmJob:
    """A SLURM job by its number."""

    id: str

    @classmethod
    def ours(cls) -> SlurmJob | None:
        """The job in whose allocation this process runs, or for which it was started; None outside of one."""
        number = os.environ.get(VARIABLE, "")
        return cls(number) if number else None

    def is_ending(self) -> bool:
        """Whether the job was told to end: by its time limit, preemption, a requeue, or somebody who cancelled it.

        SLURM decides so before it signals any process. What then dies dies of that, whoever gets the signal first.
        False if SLURM cannot be asked, or has forgotten the job.
        """
        fields = dict(_FIELD.findall(self._own_line(self._said().stdout)))
        preempted = fields.get("PreemptTime", "None") != "None"  # it runs on through a time of grace
        return preempted or fields.get("JobState", "RUNNING") not in _GOES_ON

    def nodes(self) -> list[Node]:
        """What the job was given.

        Raises:
            LaunchError: SLURM does not say.
        """
        said = self._said()
        found = [node for nodes in _NODES.findall(self._own_line(said.stdout)) for node in _nodes(*nodes)]
        if not found:
            reason = next(iter(said.stderr.strip().splitlines()), "it holds no nodes")
            raise LaunchError(f"SLURM job {self.id}: {reason}", "see whether it still runs: `squeue --me`")
        return found

    def _own_line(self, said: str) -> str:
        """What was said of this job; a question for the first job of an array is answered for all of them."""
        return next((line for line in said.splitlines() if line.startswith(f"JobId={self.id} ")), "")

    def _said(self) -> subprocess.CompletedProcess[str]:
        """SLURM's answer; once more where a signal to all processes of the job has hit the question itself."""
        command = ["scontrol", "--oneliner", "--details", "show", "job", self.id]
        said = subprocess.CompletedProcess[str](command, 1, "", "scontrol does not answer")
        for _ in range(_TRIES):
            try:
                said = subprocess.run(command, capture_output=True, text=True, timeout=_ANSWER_S)
            except (OSError, subprocess.TimeoutExpired) as error:
                return subprocess.CompletedProcess(command, 1, "", str(error))
            if said.returncode >= 0:
                break
        return said


def allocation_is_ending() -> bool:
    """Whether SLURM is ending the job that this process belongs to; False outside of one."""
    job = SlurmJob.ours()
    return job is not None and job.is_ending()


def host_names(folded: str) -> list[str]:
    """The nodes of a list as SLURM folds it, for example `n[1-2,7]`; raises LaunchError where SLURM cannot."""
    try:
        done = subprocess.run(
            ["scontrol", "show", "hostnames", folded], capture_output=True, text=True, timeout=_ANSWER_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise LaunchError(f"SLURM does not know the nodes {folded} ({error})", "see `sinfo`") from None
    return done.stdout.split()


def _nodes(folded: str, cpus: str, gres: str) -> list[Node]:
    """Nodes that are alike, from SLURM's words on them, for example `n[1-2]`, `0-3,8` and `gpu:a100:2(IDX:0-1)`."""
    gpus = sum(int(count) for count in re.findall(r"(?:^|,)gpu(?::[^:(,]+)?:(\d+)", gres))
    return [Node(name, _count(cpus), gpus) for name in host_names(folded)]


def _count(ranges: str) -> int:
    """How many numbers there are in ranges, for example 3 in `0-1,4`."""
    ends = [part.partition("-") for part in ranges.split(",")]
    return sum(int(last or first) - int(first) + 1 for first, _, last in ends)
