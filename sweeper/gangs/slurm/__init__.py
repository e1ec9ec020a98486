"""Gangs as job steps of the SLURM allocation that this process belongs to.

- `own_job.py`: the allocation, and whether SLURM is ending it
- `node_seats.py`: which node has room for a gang
- `executor.py`: the executor
- `step.py`: a job step with a gang, as the executor sees it
- `far_end.py`: what runs in the step, beside the ranks
"""

from __future__ import annotations

from sweeper.gangs.slurm.executor import SlurmExecutor

__all__ = ["SlurmExecutor"]
