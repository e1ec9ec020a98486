"""The contract of an exchange, for each of them over each communicator.

Gradient averaging is single-process training by definition. Weight averaging after every step is so too, also with
momentum m and weight decay d, though each rank keeps a velocity v_i of its own: with common weights w before the step,
v_i' = m v_i + g_i + d w and w_i = w - r v_i' are linear in (v_i, g_i). Their means over the ranks therefore follow
v' = m v + g + d w and w' = w - r v', which is the single process, as long as mean v_i was v before; it was at the
start, where torch sets v_i = g_i + d w, as with v_i = 0. (Nesterov's momentum is linear as well; a clipped or an
adaptive step is not.)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from mpi4py import MPI
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from engine.config import ExchangeConfig, Overlap
from engine.data.shards import share
from engine.exchange import (
    Exchange,
    ExchangeError,
    Staging,
    chosen_method,
    hierarchical_sum,
    make_exchange,
    nccl,
    parameter_server,
)
from engine.exchange.all_reduce import Averaged
from engine.exchange.buckets import Buckets
from engine.exchange.sums import ring_sum
from engine.flat import FlatParameters
from engine.optimizer import Sgd
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
BUCKET_BYTES = 30  # makes three buckets of the network's 39 weights in double precision


@dataclass(frozen=True)
class Case:
    """An exchange: its method, what it averages, whether MPI gets tensors, whether it overlaps."""

    method: str
    average: Averaged
    direct: bool = False
    overlap: Overlap = "off"

    def __str__(self) -> str:
        where = "direct" if self.direct else "host"
        return f"{self.method}-{self.average}-{where}{'-overlapped' if self.overlap == 'on' else ''}"


AVERAGES: tuple[Averaged, ...] = ("gradients", "weights")
CASES = [
    *(Case(method, average, direct) for method in METHODS for average in AVERAGES for direct in (False, True)),
    *(Case("all-reduce", "gradients", direct, "on") for direct in (False, True)),
]
on_each_communicator = pytest.mark.parametrize("comm", ["self", "world", "duplicate", "reversed"], indirect=True)
on_all_ranks = pytest.mark.parametrize("comm", ["reversed"], indirect=True)  # where rank 0 is not the world's


@pytest.fixture(params=CASES, ids=str)
def make_rank(request: pytest.FixtureRequest, comm: MPI.Comm) -> MakeRank:
    """Makes this rank's part of an exchange that is not started yet."""
    return functools.partial(rank_of, request.param, comm)


def sgd(flat: FlatParameters, momentum: float = 0.0, weight_decay: float = 0.0) -> Sgd:
    made = Sgd(flat, momentum=momentum > 0)
    made.begin(momentum, weight_decay)
    made.set_rate(RATE)
    return made


def rank_of(
    case: Case,
    comm: MPI.Comm,
    momentum: float = 0.0,
    weight_decay: float = 0.0,
    seed: int = 0,
    detailed: bool = False,
) -> Rank:
    module, phases = network(seed), Phases(detailed=detailed)
    flat = FlatParameters(module)
    optimizer = sgd(flat, momentum, weight_decay)
    settings: dict[str, Any] = {"overlap": case.overlap, "bucket_bytes": BUCKET_BYTES, "direct": case.direct}
    exchange = make_exchange(case.method, case.average, comm, flat, optimizer, phases, **settings)
    assert exchange.overlapped == (case.overlap == "on" and comm.size > 1)
    return Rank(module, flat, exchange, phases, case.average)


def compute(rank: Rank, comm: MPI.Comm, start: int, stop: int) -> None:
    """This rank's part of the gradients of a step, scaled as the contract says."""
    mine = share(start, stop, comm.rank, comm.size)
    if mine[0] < mine[1]:
        loss = loss_sum(rank.module, *mine)
        rank.flat.compute_gradients(loss, torch.full_like(loss, comm.size / (stop - start)))
    else:
        rank.flat.gradients.zero_()


@functools.cache
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


def assert_same_everywhere(comm: MPI.Comm, *found: Tensor) -> None:
    everyones = comm.allgather(b"".join(one.numpy().tobytes() for one in found))
    assert all(one == everyones[0] for one in everyones)


def assert_single_process_training(rank: Rank, comm: MPI.Comm, momentum: float, weight_decay: float) -> None:
    rank.exchange.start()
    start, found = 0, []
    for count, expected in zip(STEPS, alone(momentum, weight_decay), strict=True):
        compute(rank, comm, start, start + count)
        rank.exchange.step()
        assert np.abs(rank.flat.weights.numpy() - expected).max() < 1e-12
        found.append(rank.flat.weights.clone())
        start += count
    assert_same_everywhere(comm, *found)


@on_each_communicator
def test_it_is_single_process_training_on_the_same_global_batch(make_rank: MakeRank, comm: MPI.Comm) -> None:
    assert_single_process_training(make_rank(0.9, 0.01), comm, 0.9, 0.01)


@on_all_ranks
class TestExchange:
    """Every exchange passes the same."""

    @pytest.mark.parametrize(("momentum", "weight_decay"), [(0.0, 0.0), (0.9, 0.0), (0.0, 0.01)])
    def test_it_is_single_process_training_also_without_momentum_or_decay(
        self, make_rank: MakeRank, comm: MPI.Comm, momentum: float, weight_decay: float
    ) -> None:
        assert_single_process_training(make_rank(momentum, weight_decay), comm, momentum, weight_decay)

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

    def test_what_is_not_finite_on_one_rank_arrives_on_all_and_stays_in_its_place(
        self, make_rank: MakeRank, comm: MPI.Comm
    ) -> None:
        rank = make_rank()
        rank.exchange.start()
        values = [math.nan, math.inf, -math.inf]
        start = [1.0, 1.0, 1.0] if comm.rank == comm.size - 1 else [0.0, 0.0, 0.0]
        loss = loss_sum(rank.module, *share(0, 12, comm.rank, comm.size))
        bias = next(parameter for parameter in rank.module.parameters() if parameter.dim() == 1)
        for place, (value, here) in enumerate(zip(values, start, strict=True)):
            if here:
                loss = loss + bias[place] * value
        rank.flat.compute_gradients(loss, torch.full_like(loss, comm.size / 12))
        rank.exchange.step()
        weights = rank.flat.weights.numpy()
        assert repr(weights[20:23].tolist()) == repr([math.nan, -math.inf, math.inf])
        others = np.delete(weights, [20, 21, 22]), np.delete(alone(0.0, 0.0)[0], [20, 21, 22])
        assert np.abs(others[0] - others[1]).max() < 1e-12
        assert_same_everywhere(comm, rank.flat.weights)

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

    @pytest.mark.parametrize("detailed", [False, True])
    def test_its_phases_are_timed(self, make_rank: MakeRank, comm: MPI.Comm, detailed: bool) -> None:
        rank = make_rank(detailed=detailed)
        rank.exchange.start()
        rank.phases.start("compute")
        compute(rank, comm, 0, 12)
        rank.exchange.step()
        rank.phases.stop()
        found = rank.phases.totals
        if comm.size == 1:
            assert set(found) == {"compute", "update"}
            return
        server = {"gather", "average", "update", "broadcast"}
        expected = {"compute", *(server if "gather" in found else {"all-reduce", "update"}), *["wait"][:detailed]}
        assert set(found) == expected if comm.rank == 0 else set(found) <= expected
        assert ("wait" in found) == detailed
        assert all(seconds >= 0 for seconds in found.values())

    def test_weights_may_be_averaged_every_few_steps(self, make_rank: MakeRank, comm: MPI.Comm) -> None:
        rank = make_rank()
        rank.exchange.start()
        before = rank.flat.weights.clone()
        compute(rank, comm, 0, 12)
        own = before - RATE * rank.flat.gradients
        rank.exchange.step(combine=False)
        if rank.average == "gradients":
            assert_same_everywhere(comm, rank.flat.weights)
            return
        assert torch.equal(rank.flat.weights, own)
        compute(rank, comm, 12, 24)
        own = rank.flat.weights - RATE * rank.flat.gradients
        expected = np.mean(comm.allgather(own.numpy()), axis=0)
        rank.exchange.step(combine=True)
        assert np.abs(rank.flat.weights.numpy() - expected).max() < 1e-12
        assert_same_everywhere(comm, rank.flat.weights)


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("ranks_of_a_host", [1, 2, 3])
@on_all_ranks
def test_the_hierarchical_sum_goes_over_any_hosts(comm: MPI.Comm, ranks_of_a_host: int, direct: bool) -> None:
    on_host = comm.Split(comm.rank // ranks_of_a_host, comm.rank)
    buffer = torch.arange(7.0) + comm.rank
    hierarchical_sum(comm, Staging(FlatParameters(network()), direct), on_host)(buffer)
    assert buffer.tolist() == [comm.size * i + comm.size * (comm.size - 1) / 2 for i in range(7)]
    on_host.Free()


@pytest.mark.parametrize("case", [Case("parameter-server", average, d) for average in AVERAGES for d in (False, True)])
@on_all_ranks
def test_a_server_takes_messages_in_pieces(case: Case, comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameter_server, "PIECE_BYTES", 64)  # five pieces, the last one of 7 of 8 weights
    assert_single_process_training(rank_of(case, comm, 0.9, 0.01), comm, 0.9, 0.01)


@on_all_ranks
def test_over_many_ranks_a_server_broadcasts_by_mpi(comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameter_server, "_SENT_TO_EACH", 1)
    assert_single_process_training(rank_of(Case("parameter-server", "gradients"), comm), comm, 0.0, 0.0)


@on_all_ranks
def test_a_parameter_that_the_loss_does_not_reach_has_no_gradient_and_holds_nobody_up(comm: MPI.Comm) -> None:
    found = []
    for case in (Case("all-reduce", "gradients"), Case("all-reduce", "gradients", overlap="on")):
        rank = rank_of(case, comm)
        rank.exchange.start()
        last = rank.module.get_submodule("2")
        before = rank.flat.weights.clone()
        loss = rank.module[:2](INPUTS[comm.rank : comm.rank + 1]).sum()  # type: ignore[index]
        rank.flat.gradients.fill_(7)
        rank.flat.compute_gradients(loss, torch.ones_like(loss))
        rank.exchange.step()
        count = sum(parameter.numel() for parameter in last.parameters())
        assert torch.equal(rank.flat.weights[-count:], before[-count:])
        found.append(rank.flat.weights)
    assert (found[0] - found[1]).abs().max() < 1e-12


@on_all_ranks
def test_buckets_are_sent_while_gradients_are_computed(comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch) -> None:
    rank = rank_of(Case("all-reduce", "gradients", overlap="on"), comm)
    rank.exchange.start()
    sent: list[int] = []
    launch = Buckets._launch_next

    def launch_next(buckets: Buckets) -> None:
        sent.append(len(buckets))
        launch(buckets)

    monkeypatch.setattr(Buckets, "_launch_next", launch_next)
    compute(rank, comm, 0, 12)
    assert sent == ([3, 3, 3] if comm.size > 1 else [])
    rank.exchange.step()
    assert sent == ([3, 3, 3] if comm.size > 1 else [])


def test_nccls_exchange_is_right_over_another_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the class does around NCCL, over Gloo on CPUs."""
    comm = MPI.COMM_WORLD
    monkeypatch.setattr(nccl, "why_not_nccl", lambda *_: "")
    for case in (Case("nccl", "gradients"), Case("nccl", "weights"), Case("nccl", "gradients", overlap="on")):
        assert_single_process_training(rank_of(case, comm, 0.9, 0.01), comm, 0.9, 0.01)
    if comm.size > 1:  # one rank exchanges nothing, and joins no group
        flat = FlatParameters(network())
        optimizer = sgd(flat)
        with pytest.raises(ExchangeError, match=r"algorithm: nccl sums by auto in this process already, not by ring"):
            make_exchange("nccl", "gradients", comm, flat, optimizer, Phases(), algorithm="ring")
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("count", [0, 1, 2, 7, 64, 1000])
@pytest.mark.parametrize("piece", [8, 24, 1 << 20])
@on_each_communicator
def test_a_ring_sums_in_pieces_of_any_size(comm: MPI.Comm, count: int, piece: int) -> None:
    flat = FlatParameters(network())
    ring = ring_sum(comm, Staging(flat), piece)
    for _ in range(3):  # what it receives in is kept
        buffer = torch.arange(count, dtype=torch.float64) * (comm.rank + 1)
        ring(buffer)
        assert buffer.tolist() == [number * comm.size * (comm.size + 1) / 2 for number in range(count)]
    larger = torch.full((3 * count + 1,), float(comm.rank), dtype=torch.float64)
    ring(larger)
    assert larger.tolist() == [comm.size * (comm.size - 1) / 2] * (3 * count + 1)


@pytest.mark.parametrize(
    ("method", "average", "told"),
    [
        ("ring", "gradients", "ring sends gradients when all are there"),
        ("all-reduce", "weights", "weights are averaged, which change only when all gradients are there"),
    ],
)
def test_overlapping_is_refused_where_it_cannot_be(method: str, average: Averaged, told: str) -> None:
    flat = FlatParameters(network())
    optimizer = sgd(flat)
    with pytest.raises(ExchangeError, match=f"trial.exchange.overlap: is on, and {told}"):
        make_exchange(method, average, MPI.COMM_WORLD, flat, optimizer, Phases(), overlap="on")


@pytest.mark.parametrize(("bucket_bytes", "expected"), [(39 * 8 - 1, True), (39 * 8, False)])
@on_all_ranks
def test_auto_overlaps_more_than_one_bucket(comm: MPI.Comm, bucket_bytes: int, expected: bool) -> None:
    for method in METHODS:
        flat = FlatParameters(network())
        optimizer = sgd(flat)
        made = make_exchange(method, "gradients", comm, flat, optimizer, Phases(), bucket_bytes=bucket_bytes)
        assert made.overlapped == (expected and method == "all-reduce" and comm.size > 1)


def test_what_stays_on_the_device_may_be_captured() -> None:
    flat = FlatParameters(network())
    optimizer = sgd(flat)
    for comm in (MPI.COMM_SELF, MPI.COMM_WORLD):
        made = make_exchange("all-reduce", "gradients", comm, flat, optimizer, Phases())
        assert (made.on_device, made.staging) == ((True, "none") if comm.size == 1 else (False, "host"))


@on_all_ranks
def test_auto_is_the_all_reduce_on_cpus(comm: MPI.Comm) -> None:
    assert chosen_method(ExchangeConfig(), comm, FlatParameters(network())) == "all-reduce"


@on_all_ranks
def test_nccl_is_refused_on_cpus(comm: MPI.Comm) -> None:
    flat = FlatParameters(network())
    optimizer = sgd(flat)
    with pytest.raises(ExchangeError, match="nccl needs a GPU for every rank, and they compute on CPUs"):
        make_exchange("nccl", "gradients", comm, flat, optimizer, Phases())
