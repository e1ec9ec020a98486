"""How far areas of one setting's seeds lie apart."""

from __future__ import annotations

import math
import random

import pytest

from sweeper.ranking.noise import USUAL_NOISE, SeedNoise


def noise_of(*settings: list[float]) -> float:
    noise = SeedNoise()
    for number, areas in enumerate(settings):
        for one in areas:
            noise.add(number, one)
    return noise.share


def test_without_repeats_it_is_what_is_usual() -> None:
    assert noise_of() == USUAL_NOISE
    assert noise_of([1.0], [2.0], [3.0]) == pytest.approx(USUAL_NOISE)


def test_two_seeds_of_a_setting_by_hand() -> None:
    # Logarithms are off their mean by log(1.1) / 2 each: one degree of freedom beside that of what is usual.
    by_hand = math.sqrt((USUAL_NOISE**2 + 2 * (math.log(1.1) / 2) ** 2) / 2)
    assert noise_of([1.0, 1.1], [5.0]) == pytest.approx(by_hand)


@pytest.mark.parametrize("true", [0.002, 0.03, 0.2])
def test_many_seeds_tell_it(true: float) -> None:
    order = random.Random(0)
    seen = [[size * math.exp(order.gauss(0, true)) for _ in range(4)] for size in range(1, 200)]
    assert noise_of(*seen) == pytest.approx(true, rel=0.2)


def test_areas_that_have_no_logarithm_tell_nothing() -> None:
    assert noise_of([0.0, -1.0, math.inf, math.nan, 1.0]) == pytest.approx(USUAL_NOISE)
