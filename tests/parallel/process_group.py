"""A process group of torch.distributed over the ranks of an MPI communicator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mpi4py import MPI
from torch import distributed
from torch._C._distributed_c10d import TCPStore
from torch.distributed import ProcessGroup


@contextmanager
def gloo(comm: MPI.Comm) -> Iterator[ProcessGroup]:
    """A group over gloo, the process's default one, for the block. Collective."""
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False) if comm.rank == 0 else None
    port = comm.bcast(store.port if store else None)
    if store is None:
        store = TCPStore("127.0.0.1", port, is_master=False)
    distributed.init_process_group("gloo", store=store, rank=comm.rank, world_size=comm.size)
    try:
        group = distributed.group.WORLD
        assert group is not None
        yield group
    finally:
        comm.Barrier()
        distributed.destroy_process_group()
