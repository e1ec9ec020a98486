"""SLURM: the sbatch file of a sweep, and what it runs in the allocation.

- `allocation.py`: the nodes, cores and GPUs that a spec needs
- `batch_file.py`: the text of the file, from `batch_file.sh` and `gangs_on_slurm.sh` or `gangs_on_ray.sh`
- `meeting_point.py`, `joined.py`: programs that a file with Ray runs, to find the head's address and to wait for nodes
"""

from __future__ import annotations

from sweeper.slurm.allocation import Allocation, Wishes, smallest_allocation
from sweeper.slurm.batch_file import EXECUTORS, BatchFile

__all__ = ["EXECUTORS", "Allocation", "BatchFile", "Wishes", "smallest_allocation"]
