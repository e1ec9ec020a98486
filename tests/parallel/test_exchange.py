"""The contract of an exchange, for each of them over each communicator.

Gradient averaging is single-process training by definition. Weight averaging after every step is so too, also with
momentum m and weight decay d, though each rank keeps a velocity v_i of its own: with common weights w before the step,
v_i' = m v_i + g_i + d w and w_i = w - r v_i' are linear in (v_i, g_i). Their means over the ranks therefore follow
v' = m v + g + d w and w' = w - r v', which is the single process, as long as mean v_i was v before; it was at the
start, where torch sets v_i = g_i + d w, as with v_i = 0. (Nesterov's momentum is linear as well; a clipped or an
adaptive step is not.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from mpi4py import MPI
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from engine.config import ExchangeConfig
from engine.data.shards import share
from engine.exchange import Exchange, ExchangeError, chosen_method, hierarchical_sum, make_exchange
from engine.flat import FlatParameters
from engine.phases import Phases

pytestmark = pytest.mark.parallel
RATE = 0.5
# Images of each step: even shares, uneven ones, and steps with fewer images than ranks.
STEPS = (12, 12, 7, 5, 3, 2, 1)
INPUTS = torch.linspace(-1, 1, sum(STEPS) * 5, dtype=torch.float64).sin().view(-1, 5)
TARGETS = torch.arange(sum(STEPS)) % 3


def network(seed: int = 0) -> nn.Module:
    """A small network in double precision, so that rounding is far from what a mistake would make."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3)).double()


def loss_sum(module: nn.Module, start: int, stop: int) -> Tensor:
    return functional.cross_entropy(module(INPUTS[start:stop]), TARGETS[start:stop], reduction="sum")


@dataclass(frozen=True)
class Rank:
    """What a rank has: its network, flat, and the exchange over it."""

    module: nn.Module
    flat: FlatParameters
    exchange: Exchange
    phases: Phases
    average: str


MakeRank = Callable[..., Rank]


METHODS = ("parameter-server", "all-reduce", "ring", "hierarchical", "reduce-broadcast")


@pytest.fixture(params=[(method, average) for method in METHODS for average in ("gradients", "weights")])
def make_rank(request: pytest.FixtureRequest, comm: MPI.Comm) -> MakeRank:
    """Makes this rank's part of an exchange that is not started yet."""

    def make(momentum: float = 0.0, weight_decay: float = 0.0, seed: int = 0) -> Rank:
        module, phases = network(seed), Phases()
        flat = FlatParameters(module)
        optimizer = torch.optim.SGD([flat.optimizable()], lr=RATE, momentum=momentum, weight_decay=weight_decay)
        method, average = request.param
        return Rank(module, flat, make_exchange(method, average, comm, flat, optimizer, phases), phases, average)

    return make


def compute(rank: Rank, comm: MPI.Comm, start: int, stop: int) -> None:
    """This rank's part of the gradients of a step, scaled as the contract says."""
    rank.flat.gradients.zero_()
    mine = share(start, stop, comm.rank, comm.size)
    if mine[0] < mine[1]:
        torch.autograd.backward(loss_sum(rank.module, *mine) * (comm.size / (stop - start)))


def alone(momentum: float, weight_decay: float) -> list[NDArray[np.float64]]:
    """All weights after each step of a single process, by the textbook's formulas."""
    module = network()
    velocity = [torch.zeros_like(parameter) for parameter in module.parameters()]
    history, start = [], 0
    for count in STEPS:
        gradients = torch.autograd.grad(loss_sum(module, start, start + count) / count, list(module.parameters()))
        with torch.no_grad():
            for parameter, gradient, v in zip(module.parameters(), gradients, velocity, strict=True):
                v.mul_(momentum).add_(gradient + weight_decay * parameter)
                parameter.sub_(RATE * v)
        history.append(np.concatenate([p.detach().numpy().ravel() for p in module.parameters()]))
        start += count
    return history


def assert_same_everywhere(rank: Rank, comm: MPI.Comm) -> None:
    everyones = comm.allgather(rank.flat.weights.numpy().tobytes())
    assert all(one == everyones[0] for one in everyones)


class TestExchange:
    """Every exchange passes the same."""

    @pytest.mark.parametrize("momentum", [0.0, 0.9])
    @pytest.mark.parametrize("weight_decay", [0.0, 0.01])
    def test_it_is_single_process_training_on_the_same_global_batch(
        self, make_rank: MakeRank, comm: MPI.Comm, momentum: float, weight_decay: float
    ) -> None:
        rank = make_rank(momentum, weight_decay)
        rank.exchange.start()
        start = 0
        for count, expected in zip(STEPS, alone(momentum, weight_decay), strict=True):
            compute(rank, comm, start, start + count)
            rank.exchange.step()
            assert np.abs(rank.flat.weights.numpy() - expected).max() < 1e-12
            assert_same_everywhere(rank, comm)
            start += count

    def test_it_starts_with_the_weights_of_rank_0(self, make_rank: MakeRank, comm: MPI.Comm) -> None:
        rank = make_rank(seed=comm.rank)
        rank.exchange.start()
        expected = FlatParameters(network(seed=0)).weights
        assert torch.equal(rank.flat.weights, expected)

    def test_warming_up_changes_nothing(self, make_rank: MakeRank, comm: MPI.Comm) -> None:
        rank = make_rank(momentum=0.9, seed=comm.rank)
        rank.exchange.start()
        before = rank.flat.weights.clone()
        for _ in range(2):
            compute(rank, comm, 0, 12)
            rank.exchange.warm_up()
        assert torch.equal(rank.flat.weights, before)
        compute(rank, comm, 0, 12)
        rank.exchange.step()
        assert np.abs(rank.flat.weights.numpy() - alone(0.9, 0.0)[0]).max() < 1e-12

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    def test_what_is_not_finite_on_one_rank_arrives_on_all_and_stays_in_its_place(
        self, make_rank: MakeRank, comm: MPI.Comm, value: float
    ) -> None:
        rank = make_rank()
        rank.exchange.start()
        compute(rank, comm, 0, 12)
        if comm.rank == comm.size - 1:
            rank.flat.gradients[1] = value
        rank.exchange.step()
        weights = rank.flat.weights.numpy()
        assert repr(float(weights[1])) == repr(-value if math.isinf(value) else value)
        others = np.delete(weights, 1), np.delete(alone(0.0, 0.0)[0], 1)
        assert np.abs(others[0] - others[1]).max() < 1e-12
        assert_same_everywhere(rank, comm)

    def test_the_same_steps_give_the_same_bits(self, make_rank: MakeRank, comm: MPI.Comm) -> None:
        found = []
        for _ in range(2):
            rank = make_rank(momentum=0.9)
            rank.exchange.start()
            for start in (0, 12):
                compute(rank, comm, start, start + 12)
                rank.exchange.step()
            found.append(rank.flat.weights.numpy().tobytes())
        assert found[0] == found[1]

    def test_its_phases_are_timed(self, make_rank: MakeRank, comm: MPI.Comm) -> None:
        rank = make_rank()
        rank.exchange.start()
        rank.phases.reset()
        compute(rank, comm, 0, 12)
        rank.exchange.step()
        if "gather" in rank.phases.totals:
            expected = {"gather", "average", "update", "broadcast"}
        else:
            expected = {"update"} if comm.size == 1 else {"all-reduce", "update"}
        assert set(rank.phases.totals) == expected if comm.rank == 0 else set(rank.phases.totals) <= expected
        assert all(seconds >= 0 for seconds in rank.phases.totals.values())

    def test_weights_may_be_averaged_every_few_steps(self, make_rank: MakeRank, comm: MPI.Comm) -> None:
        rank = make_rank()
        rank.exchange.start()
        before = rank.flat.weights.clone()
        compute(rank, comm, 0, 12)
        own = before - RATE * rank.flat.gradients
        rank.exchange.step(combine=False)
        if rank.average == "gradients":
            assert_same_everywhere(rank, comm)
            return
        assert torch.equal(rank.flat.weights, own)
        compute(rank, comm, 12, 24)
        own = rank.flat.weights - RATE * rank.flat.gradients
        expected = np.mean(comm.allgather(own.numpy()), axis=0)
        rank.exchange.step(combine=True)
        assert np.abs(rank.flat.weights.numpy() - expected).max() < 1e-12
        assert_same_everywhere(rank, comm)


@pytest.mark.parametrize("ranks_of_a_host", [1, 2, 3])
def test_the_hierarchical_sum_goes_over_any_hosts(comm: MPI.Comm, ranks_of_a_host: int) -> None:
    on_host = comm.Split(comm.rank // ranks_of_a_host, comm.rank)
    buffer = np.arange(7.0) + comm.rank
    hierarchical_sum(comm, on_host)(buffer)
    assert buffer.tolist() == [comm.size * i + comm.size * (comm.size - 1) / 2 for i in range(7)]
    on_host.Free()


def test_auto_is_the_all_reduce_on_cpus(comm: MPI.Comm) -> None:
    assert chosen_method(ExchangeConfig(), comm, FlatParameters(network())) == "all-reduce"


def test_nccl_is_refused_on_cpus(comm: MPI.Comm) -> None:
    flat = FlatParameters(network())
    optimizer = torch.optim.SGD([flat.optimizable()], lr=RATE)
    with pytest.raises(ExchangeError, match="nccl needs a GPU for every rank, and they compute on CPUs"):
        make_exchange("nccl", "gradients", comm, flat, optimizer, Phases())
