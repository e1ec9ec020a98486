"""SLURM: the sbatch file of a sweep, and what it runs in the allocation.

- `allocation.py`: the nodes, cores and GPUs that a spec needs
- `batch_file.py`: the text of the file
- `meeting_point.py`, `joined.py`: programs that the file runs, to find the Ray head's address and to wait for its nodes
"""

from __future__ import annotations

from sweeper.slurm.allocation import Allocation, Wishes, smallest_allocation
from sweeper.slurm.batch_file import BatchFile

__all__ = ["Allocation", "BatchFile", "Wishes", "smallest_allocation"]
