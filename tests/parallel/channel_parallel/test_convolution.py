"""A convolution split over channels and filters is torch's convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, distributed, nn

from engine.channel_parallel import ChannelParallelConv2d, GridError, ProcessGrid
from engine.channel_parallel.collectives import Group
from engine.channel_parallel.stationary import Cut
from engine.errors import ModelError
from tests.parallel.channel_parallel.convolutions import check, drawn, variants
from tests.parallel.channel_parallel.grids import SAMPLES, WORLD, cuts_of, grid_of
from tests.parallel.process_group import gloo

pytestmark = pytest.mark.parallel


def test_every_algorithm_is_torchs_convolution_on_every_grid() -> None:
    for case in variants():
        check(case)


@pytest.mark.parametrize("seed", range(40))
def test_any_convolution_is_torchs(seed: int) -> None:
    check(drawn(seed), seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40, 540))
def test_many_more_are(seed: int) -> None:
    check(drawn(seed), seed)


class _GridOfTorch(ProcessGrid):
    """Sends by torch's process groups also between CPUs, over Gloo: the code that NCCL has between GPUs."""

    def _group(self, partition: Sequence[Sequence[int]]) -> Group:
        return self._group_of_torch(partition)


@pytest.mark.skipif(WORLD.size > 2, reason="gloo's ranks and MPI's spin on cores that they would have to share")
def test_torchs_process_groups_do_the_same() -> None:
    with gloo(WORLD):
        grids = {samples: _GridOfTorch(WORLD, samples) for samples in SAMPLES}
        for seed in range(30):
            check(drawn(seed), seed, grids[drawn(seed).samples])
        for grid in grids.values():
            groups = [*grid._groups_of_torch]
            grid.free()
            for group in groups:
                with pytest.raises(ValueError, match="is not initialized"):
                    distributed.get_backend(group)


class _Part(torch.autograd.Function):
    """A part of a tensor that all ranks have: its gradient is the parts of all ranks together, each counted once."""

    @staticmethod
    def forward(ctx: Any, whole: Tensor, index: tuple[slice | Tensor, ...], mine: bool) -> Tensor:
        ctx.index, ctx.shape, ctx.mine = index, whole.shape, mine
        return whole[index].clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        whole = grad.new_zeros(ctx.shape)
        for index, part, mine in WORLD.allgather((ctx.index, grad, ctx.mine)):
            if mine:
                whole[index] += part
        return whole, None, None


class _Whole(torch.autograd.Function):
    """The parts of all ranks together."""

    @staticmethod
    def forward(ctx: Any, part: Tensor, index: tuple[slice, ...], shape: torch.Size) -> Tensor:
        ctx.index = index
        whole = part.new_zeros(shape)
        for where, one in WORLD.allgather((index, part.detach())):
            whole[where] = one
        return whole

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return grad[ctx.index].clone(), None, None


@pytest.mark.parametrize("samples", SAMPLES)
def test_gradients_are_those_of_differences(samples: int) -> None:
    """In step on all ranks: each moves whole tensors the same way, and computes its part of what follows."""
    grid = grid_of(samples)
    torch.manual_seed(1)
    whole = nn.Conv2d(3, 4, (2, 3), stride=(2, 1), padding=1, dilation=(1, 2)).double()
    x = torch.randn(2, 3, 4, 5, dtype=torch.float64, requires_grad=True)
    y_shape = whole(x).shape
    rows = slice(2 * grid.sample // samples, 2 * (grid.sample + 1) // samples)
    for algorithm, filters in cuts_of(samples):
        split = ChannelParallelConv2d(whole, grid, algorithm, filters)
        cut: Cut = split.cut
        of_filters, of_channels = cut.weight_indices()
        own = grid.parts(3).range(grid.channel), grid.parts(4).range(grid.channel)
        first = grid.sample == 0  # other rows have the same gradient of weights

        def computed(
            x: Tensor,
            weight: Tensor,
            bias: Tensor,
            cut: Cut = cut,
            at: Any = (of_filters[:, None], of_channels),
            own: tuple[slice, slice] = own,
            first: bool = first,
        ) -> Tensor:
            parts = (
                _Part.apply(x, (rows, own[0]), True),  # type: ignore[no-untyped-call]
                _Part.apply(weight, at, first),  # type: ignore[no-untyped-call]
                _Part.apply(bias, (own[1],), first),  # type: ignore[no-untyped-call]
            )
            y: Tensor = _Whole.apply(cut.apply(*parts), (rows, own[1]), y_shape)  # type: ignore[no-untyped-call]
            return y

        assert whole.bias is not None
        leaves = [one.detach().requires_grad_() for one in (x, whole.weight, whole.bias)]
        assert torch.autograd.gradcheck(computed, leaves, fast_mode=True)


def test_under_autocast_it_computes_in_the_type_of_its_weights() -> None:
    torch.manual_seed(0)
    whole = nn.Conv2d(4, 4, 3)
    x = torch.randn(2, 4, 5, 5)
    grid = grid_of(1)
    with torch.autocast("cpu", torch.bfloat16):
        y = ChannelParallelConv2d(whole, grid)(x[:, grid.parts(4).range(grid.channel)].bfloat16())
    assert y.dtype == torch.float32
    expected = whole(x.bfloat16().float())[:, grid.parts(4).range(grid.channel)]
    assert torch.allclose(y, expected, atol=1e-5)


def test_what_cannot_be_is_refused() -> None:
    grid, more = grid_of(1), WORLD.size + 1
    with pytest.raises(ModelError, match="groups: is 2, and a convolution split over channels sums over all of them"):
        ChannelParallelConv2d(nn.Conv2d(4, 4, 3, groups=2), grid)
    with pytest.raises(GridError, match="algorithm: 'stationary-z' is unknown; use one of stationary-x"):
        grid.placement("stationary-z")  # type: ignore[arg-type]
    with pytest.raises(
        GridError, match="filters: is 2, and only stationary-w takes it; leave it out with stationary-x"
    ):
        grid.placement("stationary-x", 2)
    with pytest.raises(
        GridError, match=rf"filters: is {more}, which does not divide the {WORLD.size} ranks that share samples; use"
    ):
        grid.placement("stationary-w", more)
    with pytest.raises(GridError, match=f"samples: is {more}, which does not divide {WORLD.size} ranks; use one of 1"):
        ProcessGrid(WORLD, more)
    with pytest.raises(ValueError, match="pictures of 2x2 are smaller than windows of 3x3"):
        ChannelParallelConv2d(nn.Conv2d(4, 4, 3), grid)(torch.zeros(1, grid.parts(4).sizes[grid.channel], 2, 2))
    if grid.channels > 1:
        half = ChannelParallelConv2d(nn.Conv2d(4, 4, 3).bfloat16(), grid)
        with pytest.raises(
            GridError, match=r"precision: MPI sums float32 and float64, and the network computes in torch.b"
        ):
            half(torch.zeros(1, grid.parts(4).sizes[grid.channel], 5, 5, dtype=torch.bfloat16))


def test_a_grid_gives_its_communicators_back() -> None:
    for _ in range(500):  # an MPI has some two thousand
        grid = ProcessGrid(WORLD, SAMPLES[-1])
        grid.placement("stationary-w")
        grid.free()
