"""Augmented pictures in one pass: the reference's to the last bit, on each device, in each layout and type."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from cuda_ext import augmented, reference
from tests.cuda_ext.devices import DEVICES, DTYPES, randoms

SETTINGS = [
    (True, 0, 0),
    (False, 2, 0),
    (False, 0, 3),
    (True, 3, 4),
    (True, 40, 1),  # farther than the picture is wide
    (False, 0, 99),  # more than all of it
    (False, 0, 0),
]


def arguments(n: int, size: tuple[int, int, int], device: str, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    channels, height, width = size
    positions = torch.arange(7, 7 + n, device=device) * 12_345_678_901
    start = torch.tensor(-(2**62) + 12345, device=device)
    return [randoms(n, channels, height, width, dtype=dtype, device=device), positions, start]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("size", [(3, 32, 32), (1, 28, 28), (2, 5, 9), (4, 1, 1)])
@pytest.mark.parametrize("settings", SETTINGS)
def test_it_is_the_reference(
    settings: tuple[bool, int, int], size: tuple[int, int, int], layout: torch.memory_format, device: str
) -> None:
    pictures, positions, start = arguments(33, size, device)
    pictures = pictures.contiguous(memory_format=layout)
    found = augmented(pictures, positions, start, *settings)
    assert torch.equal(found, reference.augmented(pictures, positions, start, *settings))
    assert found.stride() == pictures.stride()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_is_moved(dtype: torch.dtype, device: str) -> None:
    pictures, positions, start = arguments(9, (3, 8, 8), device, dtype)
    found = augmented(pictures, positions, start, True, 2, 3)
    assert torch.equal(found, reference.augmented(pictures, positions, start, True, 2, 3))


@pytest.mark.parametrize("device", DEVICES)
def test_what_is_not_shown_does_not_matter(device: str) -> None:
    """Not even where it is not finite; and what comes in is 0 without a sign."""
    pictures, positions, start = arguments(9, (3, 8, 8), device)
    pictures[:, 0], pictures[:, 1], pictures[:, 2] = torch.nan, torch.inf, -1.0
    for way in (augmented, reference.augmented):
        found = way(pictures, positions, start, True, 2, 3)
        outside = ~found[:, 0].isnan()
        assert outside.any()
        assert (found[:, 1][outside] == 0).all()
        assert not found[:, 2][outside].signbit().any()


@pytest.mark.parametrize("device", DEVICES)
def test_pictures_that_require_gradients_are_refused(device: str) -> None:
    pictures, positions, start = arguments(2, (3, 8, 8), device)
    with pytest.raises(RuntimeError, match="has no gradients"):
        augmented(pictures.requires_grad_(), positions, start, True, 2, 3)
    with torch.no_grad():
        assert not augmented(pictures, positions, start, True, 2, 3).requires_grad


@pytest.mark.parametrize("device", DEVICES)
def test_a_compiled_graph_holds_it(device: str) -> None:
    given = arguments(5, (3, 8, 8), device)

    def twice(pictures: Tensor, positions: Tensor, start: Tensor) -> Tensor:
        return 2 * augmented(pictures, positions, start, True, 2, 3)

    compiled = torch.compile(twice, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(*given), twice(*given))


@pytest.mark.parametrize("device", DEVICES)
def test_no_pictures_are_none(device: str) -> None:
    pictures, positions, start = arguments(0, (3, 8, 8), device)
    assert augmented(pictures, positions, start, True, 2, 3).shape == (0, 3, 8, 8)


@pytest.mark.parametrize("device", DEVICES)
def test_what_does_not_fit_is_refused(device: str) -> None:
    pictures, positions, start = arguments(4, (3, 8, 8), device)
    for wrong, message in (
        ((pictures[0], positions, start, True, 1, 1), r"expected pictures \[n, channels, height, width\]"),
        ((pictures.int(), positions, start, True, 1, 1), "of a floating type, got int"),
        ((pictures[:, :, ::2], positions, start, True, 1, 1), "lie dense or channels last"),
        ((pictures, positions[:3], start, True, 1, 1), r"int64 positions \[4\]"),
        ((pictures, positions.int(), start, True, 1, 1), r"int64 positions \[4\]"),
        ((pictures, positions, start.float(), True, 1, 1), "start as one int64"),
        ((pictures, positions, start, True, -1, 1), "shift and cutout of 0 pixels or more, got -1 and 1"),
    ):
        with pytest.raises(RuntimeError, match=message):
            augmented(*wrong)


@pytest.mark.parametrize("device", DEVICES)
def test_the_operators_contract(device: str) -> None:
    given = arguments(5, (3, 8, 8), device)
    torch.library.opcheck(torch.ops.sweeper.augmented, (*given, True, 2, 3))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_pictures_and_positions_on_two_devices_are_refused() -> None:
    pictures, positions, start = arguments(4, (3, 8, 8), "cpu")
    for wrong in ((pictures.cuda(), positions, start), (pictures, positions.cuda(), start)):
        with pytest.raises(RuntimeError, match="int64 positions"):
            augmented(*wrong, True, 1, 1)


@pytest.mark.skipif(len(DEVICES) < 2 or not torch.cuda.is_available(), reason="no GPU")
def test_a_recorded_step_takes_the_positions_of_its_replay() -> None:
    pictures, positions, start = arguments(5, (3, 8, 8), "cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = augmented(pictures, positions, start, True, 2, 3)
    positions.add_(1)
    start.sub_(5)
    graph.replay()
    assert torch.equal(found, reference.augmented(pictures, positions, start, True, 2, 3))
