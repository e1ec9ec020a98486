"""What of a study this machine can measure."""

from __future__ import annotations

from experiments.study import Study
from sweeper.errors import UsageError
from sweeper.gangs.machine import local_gpus


def gpus_for(study: Study) -> int:
    """How many GPUs the part `gpu` has: none where it is not wanted, in the small version, or on a machine without.

    Raises:
        UsageError: the part `gpu` is asked for without the part `cpu`, and there is nothing to measure it on.
    """
    if not study.wants("gpu"):
        return 0
    gpus = 0 if study.quick else len(local_gpus())
    if gpus or study.wants("cpu"):
        return gpus
    if study.quick:
        raise UsageError("--quick --only gpu: the small version runs on CPUs only", "leave one of the two out")
    raise UsageError("--only gpu: this machine has no GPU", "run this part on a machine with one, or --only cpu")
