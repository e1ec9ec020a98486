"""An ordinary MPI program: least squares by gradient descent, each rank with its own rows, gradients added up.

`mpiexec -n 2 python train_mpi.py 0.5` runs it alone.
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI

import sweeper

rate, world = float(sys.argv[1]), MPI.COMM_WORLD
rows, columns = 4096, 16
generator = np.random.default_rng(0)
inputs = generator.normal(size=(rows, columns))
targets = inputs @ generator.normal(size=columns) + 0.1 * generator.normal(size=rows)
mine = slice(world.rank * rows // world.size, (world.rank + 1) * rows // world.size)

weights = np.zeros(columns)
sweeper.start()
for step in range(1, 51):
    misses = inputs[mine] @ weights - targets[mine]
    loss, gradient = (world.allreduce(part) / rows for part in (misses @ misses, inputs[mine].T @ misses))
    weights -= rate * gradient
    sweeper.report(loss=float(loss), step=step, images=step * rows)
