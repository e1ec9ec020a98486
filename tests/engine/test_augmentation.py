"""Pictures flipped, shifted and cut: what comes of them, and who draws what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from cuda_ext.reference import random_bits
from engine.augmentation import Augmentation
from engine.config import AugmentationConfig

CPU = torch.device("cpu")
SIDE = 6
# Every pixel of a picture, and every picture, is another number; none is 0.
PICTURES = torch.arange(1.0, 1 + 50 * 2 * SIDE * SIDE).view(50, 2, SIDE, SIDE)
POSITIONS = torch.arange(50)


def augmented(seed: int = 0, pictures: torch.Tensor = PICTURES, **settings: Any) -> torch.Tensor:
    config = AugmentationConfig.model_validate(settings)
    plain, fused = (
        Augmentation(config, seed, CPU, fused=fused)(pictures, POSITIONS[: len(pictures)]) for fused in (False, True)
    )
    assert torch.equal(plain, fused)
    assert plain.stride() == fused.stride()
    return fused


def splitmix(counter: int, start: int) -> int:
    """The generator's number as its authors' C code has it, in unsigned arithmetic."""
    modulus = 1 << 64
    z = (start + counter * 0x9E3779B97F4A7C15) % modulus
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % modulus
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % modulus
    return z ^ (z >> 31)


def test_random_bits_are_splitmix64s() -> None:
    counters = torch.tensor([0, 1, 2, 12345, 2**40])
    for start in (0, 42, -7, 2**62):
        expected = [splitmix(int(counter), start % (1 << 64)) >> 40 for counter in counters]
        assert random_bits(counters, start).tolist() == expected
    # The first outputs of the published program from the state 1234567, which it adds the constant to beforehand.
    assert [splitmix(n, 1234567) for n in (1, 2)] == [6457827717110365317, 3203168211198807973]


def test_a_flip_mirrors_about_half_of_them() -> None:
    found = augmented(flip=True)
    mirrored = [torch.equal(one, before.flip(2)) for one, before in zip(found, PICTURES, strict=True)]
    kept = [torch.equal(one, before) for one, before in zip(found, PICTURES, strict=True)]
    assert all(a != b for a, b in zip(mirrored, kept, strict=True))
    assert 12 < sum(mirrored) < 38


def test_a_shift_moves_by_whole_pixels_and_brings_in_zeros() -> None:
    padded = torch.nn.functional.pad(PICTURES, (2, 2, 2, 2))
    moves = set()
    for number, one in enumerate(augmented(shift=2)):
        fitting = [
            (down, right)
            for down in range(5)
            for right in range(5)
            if torch.equal(one, padded[number, :, down : down + SIDE, right : right + SIDE])
        ]
        assert len(fitting) == 1
        moves.add(fitting[0])
    assert {down for down, _ in moves} == {right for _, right in moves} == set(range(5))


def test_cutout_blanks_one_square_that_may_reach_over_the_edge() -> None:
    areas = set()
    for one, before in zip(augmented(cutout=3), PICTURES, strict=True):
        blank = (one == 0)[0]
        assert torch.equal((one == 0)[1], blank)
        assert torch.equal(one[:, ~blank], before[:, ~blank])
        rows, columns = blank.any(1).nonzero().flatten(), blank.any(0).nonzero().flatten()
        assert blank.sum() == len(rows) * len(columns)
        assert len(rows) == rows[-1] - rows[0] + 1 <= 3
        assert len(columns) == columns[-1] - columns[0] + 1 <= 3
        areas.add(int(blank.sum()))
    assert areas == {4, 6, 9}


@pytest.mark.parametrize(
    "settings", [{"flip": True}, {"shift": 2}, {"cutout": 3}, {"flip": True, "shift": 1, "cutout": 2}]
)
def test_what_is_drawn_depends_on_seed_and_position_alone(settings: dict[str, Any]) -> None:
    whole = augmented(**settings)
    config = AugmentationConfig.model_validate(settings)
    for start in range(0, 50, 7):
        part = Augmentation(config, 0, CPU)(PICTURES[start : start + 7], POSITIONS[start : start + 7])
        assert torch.equal(part, whole[start : start + 7])
    assert not torch.equal(augmented(seed=1, **settings), whole)
    assert torch.equal(augmented(seed=2**63 - 1, **settings), augmented(seed=2**63 - 1, **settings))


def test_the_layout_stays_and_does_not_matter() -> None:
    last = PICTURES.contiguous(memory_format=torch.channels_last)
    found = augmented(pictures=last, flip=True, shift=2, cutout=2)
    assert found.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(found, augmented(flip=True, shift=2, cutout=2))
    assert augmented(flip=True).is_contiguous()


def test_the_pictures_themselves_stay() -> None:
    before = PICTURES.clone()
    augmented(flip=True, shift=2, cutout=2)
    assert torch.equal(PICTURES, before)


def test_moves_are_spread_evenly() -> None:
    positions = torch.arange(20_000)
    config = AugmentationConfig(shift=2)
    moved = Augmentation(config, 3, CPU)(torch.arange(1.0, 26.0).view(1, 1, 5, 5).expand(20_000, 1, 5, 5), positions)
    corners = np.bincount(moved[:, 0, 2, 2].long().numpy(), minlength=26)[1:]
    assert corners.min() > 650  # 800 each of 25 moves, give or take five standard deviations
    assert corners.max() < 950
