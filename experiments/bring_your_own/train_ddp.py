"""An ordinary DistributedDataParallel script, as torchrun starts it: handwritten digits, a small network.

Of Sweeper it knows two calls, which do nothing outside a sweep:
`torchrun --nproc-per-node 2 train_ddp.py --rate 0.1 --batch 32` runs it alone.
"""

from __future__ import annotations

import argparse

import torch
from sklearn.datasets import load_digits
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import sweeper

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, required=True)
parser.add_argument("--batch", type=int, required=True, help="samples of each worker and step")
parser.add_argument("--epochs", type=int, default=6)
parser.add_argument("--seed", type=int, default=0)
given = parser.parse_args()

torch.manual_seed(given.seed)
distributed.init_process_group("gloo")  # by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT
workers = distributed.get_world_size()
digits = load_digits()
data = TensorDataset(torch.from_numpy(digits.data).float() / 16, torch.from_numpy(digits.target))
sampler = DistributedSampler(data, seed=given.seed)
loader = DataLoader(data, given.batch, sampler=sampler, drop_last=True)
network = DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)))
optimizer = torch.optim.SGD(network.parameters(), given.rate)

sweeper.start()
step, since, total = 0, 0, torch.zeros(())
for epoch in range(given.epochs):
    sampler.set_epoch(epoch)
    for inputs, classes in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(inputs), classes)
        loss.backward()
        optimizer.step()
        step, since, total = step + 1, since + 1, total + loss.detach()
    distributed.all_reduce(total)
    sweeper.report(loss=float(total) / since / workers, step=step, images=step * given.batch * workers)
    since, total = 0, torch.zeros(())
distributed.destroy_process_group()
