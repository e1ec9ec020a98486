"""Gangs on Ray, private or a cluster's.

This process never imports Ray. Ray reads its settings once, at its first import, and connects a process to one cluster
only; both may be somebody else's here, for example a notebook's. A driver process of our own does what needs Ray:

- `executor.py`: the executor, and the near end of each gang
- `driver_process.py`: the driver process as this one sees it
- `driver.py`: what runs in the driver process
- `actor.py`: what runs beside the ranks, in a process of Ray's on each host
- `heartbeat.py`: how each end of a gang misses the others
- `courier.py`: brings checkpoints to this machine, and to the hosts of the next gang
- `checkpoint_files.py`: a checkpoint as files of a host
- `leftovers.py`: removes what ended trials have left on hosts
- `set_aside.py`: the hosts that a gang was lost with
- `host_checks.py`: what is looked at on the hosts before a sweep is recorded, and data brought there
- `preflight.py`: what must be the same on all hosts
- `meeting.py`: whether two hosts reach each other by MPI
"""

from __future__ import annotations

from sweeper.gangs.ray.executor import RayExecutor

__all__ = ["RayExecutor"]
