"""The layers between convolutions, where their sums are hard."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch
from torch import Tensor, nn

from engine.channel_parallel.grid import ProcessGrid
from engine.channel_parallel.layers import ChannelParallelBatchNorm2d
from tests.parallel.channel_parallel.grids import SAMPLES, grid_of, own_samples

pytestmark = pytest.mark.parallel
CHANNELS = 2  # fewer than ranks, in places


def own_part(x: Tensor, grid: ProcessGrid) -> Tensor:
    return x[own_samples(grid, len(x)), grid.parts(CHANNELS).range(grid.channel)]


@pytest.mark.parametrize("samples", SAMPLES[1:])
def test_batch_normalisation_of_several_rows_in_bfloat16_sums_in_float32(samples: int) -> None:
    """Of 295 values a channel, a number that bfloat16 lacks, and far from zero. Of one row torch sums itself."""
    grid = grid_of(samples)
    torch.manual_seed(0)
    x = (torch.randn(5, CHANNELS, 59, 1) + 100).bfloat16()
    whole = nn.BatchNorm2d(CHANNELS)
    split = ChannelParallelBatchNorm2d(deepcopy(whole).bfloat16(), grid)
    expected, y = whole(x.float()), split(own_part(x, grid))
    assert y.dtype == torch.bfloat16
    assert torch.allclose(y.float(), own_part(expected, grid), rtol=0.01, atol=0.01)
    dy = torch.randn_like(x)
    expected.backward(dy.float())
    if y.requires_grad:  # some ranks have no channels
        y.backward(own_part(dy, grid))
    for name, held in split.held.items():
        of_whole, own = getattr(whole, name), getattr(split, name)
        assert own.dtype == torch.bfloat16
        assert torch.allclose(own.float(), held.part_of(of_whole), rtol=0.01), name
        if isinstance(own, nn.Parameter) and own.numel():
            assert own.grad is not None
            # The sum of 295 products may be nearly zero.
            assert torch.allclose(own.grad.float(), held.part_of(of_whole.grad), rtol=0.01, atol=0.1), name


@pytest.mark.parametrize("samples", SAMPLES)
def test_batch_normalisation_refuses_a_single_value_on_every_rank(samples: int) -> None:
    grid = grid_of(samples)
    torch.manual_seed(0)
    one, two = torch.ones(1, CHANNELS, 1, 1), torch.randn(2, CHANNELS, 1, 1)
    for whole in (nn.BatchNorm2d(CHANNELS), nn.BatchNorm2d(CHANNELS, track_running_stats=False).eval()):
        split = ChannelParallelBatchNorm2d(whole, grid).train(whole.training)
        message = r"Expected more than 1 value per channel when training, got input size torch.Size\(\[1, 2, 1, 1\]\)"
        with pytest.raises(ValueError, match=message):
            whole(one)
        with pytest.raises(ValueError, match=message):
            split(own_part(one, grid))
        assert torch.allclose(split(own_part(two, grid)), own_part(whole(two), grid), atol=1e-5)
    split = ChannelParallelBatchNorm2d(nn.BatchNorm2d(CHANNELS), grid).eval()
    assert torch.allclose(split(own_part(one, grid)), own_part(one, grid), atol=1e-4)
