"""Areas under loss curves, and what is kept of a curve."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.ranking.curve import CurveSummary, LossPoint, area, integral, minimum_loss, summarize

_LOSSES = st.floats(-1e6, 1e6)
_WIDTHS = st.floats(0, 1e4)


def curve(*losses: float, seconds: float = 0.5, images: int | None = 64) -> list[LossPoint]:
    """Points every `seconds`, two steps and `images` apart."""
    return [
        LossPoint(2 * i, None if images is None else images * i, seconds * i, loss)
        for i, loss in enumerate(losses, start=1)
    ]


@st.composite
def curves(draw: st.DrawFn, minimum_points: int = 2) -> tuple[list[float], list[float]]:
    """Positions that never fall, and as many losses."""
    losses = draw(st.lists(_LOSSES, min_size=minimum_points, max_size=40))
    widths = draw(st.lists(_WIDTHS, min_size=len(losses), max_size=len(losses)))
    return [math.fsum(widths[: i + 1]) for i in range(len(losses))], losses


def test_the_area_is_the_first_loss_from_zero_to_its_point_and_trapezoids_after_it() -> None:
    assert area(curve(2.0, 1.0, 1.5)) == pytest.approx(1.0 + 0.75 + 0.625)
    assert area(curve(2.0, 1.0, 1.5), "steps") == 4.0 + 3.0 + 2.5
    assert area(curve(2.0, 1.0, 1.5), "images") == 64 * (2.0 + 2.75)


def test_a_curve_that_reports_late_is_charged_for_the_time_before() -> None:
    every_second = [LossPoint(second, None, float(second), 1.0) for second in range(1, 11)]
    assert area(every_second) == area(every_second[-2:]) == area(every_second[-1:]) == 10.0


def test_a_curve_that_begins_below_zero_is_integrated_from_there() -> None:
    assert area([LossPoint(1, None, -1.0, 2.0), LossPoint(2, None, 3.0, 2.0)]) == 8.0


@pytest.mark.parametrize("seconds", [(0.0,), (0.0, 0.0), (-1.0,), (-1.0, -1.0)])
def test_there_is_no_area_where_no_time_passes(seconds: tuple[float, ...]) -> None:
    points = [LossPoint(step, None, at, 1.0) for step, at in enumerate(seconds)]
    assert area(points) is None


@given(st.integers(1, 50), st.integers(1, 50), st.floats(0.1, 100))
def test_how_often_a_curve_reports_changes_its_area_by_less_than_an_interval(
    often: int, seldom: int, seconds: float
) -> None:
    """Of a loss that falls in a straight line from 2 to 1, windows give means at their ends."""

    def reported(points: int) -> float:
        ends = [n / points for n in range(1, points + 1)]
        found = area([LossPoint(n, None, seconds * end, 2 - end + 0.5 / points) for n, end in enumerate(ends, 1)])
        assert found is not None
        return found

    assert abs(reported(often) - reported(seldom)) <= 2 * seconds / min(often, seldom)


def test_losses_below_zero_count_against_those_above() -> None:
    assert area(curve(1.0, -1.0, -1.0)) == 0.0


@pytest.mark.parametrize("losses", [(), (math.nan,), (2.0, math.nan), (2.0, math.inf, 1.0), (-math.inf, 1.0)])
def test_there_is_no_area_of_no_point_or_of_losses_that_are_not_finite(losses: tuple[float, ...]) -> None:
    for over in ("seconds", "images", "steps"):
        assert area(curve(*losses), over) is None


def test_there_is_no_area_over_images_that_are_not_known() -> None:
    points = curve(2.0, 1.0, images=None)
    assert area(points, "images") is None
    assert area([*curve(2.0, 1.0), LossPoint(9, None, 9.0, 1.0)], "images") is None
    assert area(points, "seconds") == 1.75


HUGE = sys.float_info.max


@pytest.mark.parametrize("losses", [(HUGE, HUGE, HUGE), (HUGE, HUGE, HUGE, -HUGE, -HUGE, -HUGE), (HUGE, *5 * (-HUGE,))])
def test_there_is_no_area_beyond_what_a_double_holds(losses: tuple[float, ...]) -> None:
    assert area(curve(*losses, seconds=1.0)) is None
    assert area(curve(*losses, seconds=4.0)) is None


def test_huge_losses_over_a_short_time_have_an_area() -> None:
    assert area(curve(HUGE, HUGE, seconds=0.25)) == HUGE / 2


def test_there_is_no_area_where_a_time_is_not_finite() -> None:
    assert area([LossPoint(1, 1, 0.0, 1.0), LossPoint(2, 2, math.inf, 1.0)]) is None
    assert area([LossPoint(1, 1, math.nan, 1.0), LossPoint(2, 2, 1.0, 1.0)]) is None


def test_the_minimum_is_the_smallest_number_wherever_it_stands() -> None:
    assert minimum_loss(curve(2.0, 0.5, 1.0)) == 0.5
    assert minimum_loss(curve(math.nan, 2.0, math.inf)) == 2.0
    assert minimum_loss(curve(math.inf)) == math.inf
    assert minimum_loss(curve(math.nan)) is None
    assert minimum_loss([]) is None


def test_a_summary_tells_the_end_the_minimum_and_the_areas() -> None:
    assert summarize(curve(2.0, 1.0, 1.5)) == CurveSummary(
        points=3,
        finite=True,
        minimum_loss=1.0,
        final_loss=1.5,
        seconds=1.5,
        images=192,
        steps=6,
        area_seconds=2.375,
        area_images=304.0,
        area_steps=9.5,
    )


def test_a_summary_of_nothing_and_of_a_diverged_curve() -> None:
    assert summarize([]) == CurveSummary(0, True, None, None, None, None, None, None, None, None)
    diverged = summarize(curve(2.0, 1.0, math.inf))
    assert (diverged.finite, diverged.minimum_loss, diverged.final_loss) == (False, 1.0, math.inf)
    assert (diverged.area_seconds, diverged.seconds) == (None, 1.5)


@given(curves(minimum_points=1))
def test_areas_are_numpys_within_rounding(drawn: tuple[list[float], list[float]]) -> None:
    positions, losses = drawn
    scale = positions[-1] * max(map(abs, losses))
    expected = float(np.trapezoid([losses[0], *losses], [0.0, *positions]))
    assert integral(positions, losses) == pytest.approx(expected, rel=1e-12, abs=1e-12 * scale)


@given(curves(), st.data())
def test_areas_of_the_parts_add_up(drawn: tuple[list[float], list[float]], data: st.DataObject) -> None:
    positions, losses = drawn
    cut = data.draw(st.integers(0, len(losses) - 1))
    rest = float(np.trapezoid(losses[cut:], positions[cut:]))
    scale = positions[-1] * max(map(abs, losses))
    parts = integral(positions[: cut + 1], losses[: cut + 1]) + rest
    assert integral(positions, losses) == pytest.approx(parts, rel=1e-12, abs=max(1e-12 * scale, 1e-300))


@given(curves(minimum_points=1), st.integers(0, 1024))
def test_a_later_start_costs_the_first_loss_for_as_long(drawn: tuple[list[float], list[float]], later: int) -> None:
    positions, losses = drawn
    scale = (positions[-1] + later) * max(map(abs, losses))
    moved = integral([position + later for position in positions], losses)
    assert moved == pytest.approx(integral(positions, losses) + later * losses[0], rel=1e-9, abs=1e-11 * scale)


@given(curves(minimum_points=1), st.floats(0.001, 1000))
def test_areas_grow_with_the_losses(drawn: tuple[list[float], list[float]], factor: float) -> None:
    positions, losses = drawn
    scale = factor * positions[-1] * max(map(abs, losses))
    grown = integral(positions, [factor * loss for loss in losses])
    assert grown == pytest.approx(factor * integral(positions, losses), rel=1e-12, abs=max(1e-12 * scale, 1e-300))


@given(curves(minimum_points=1))
def test_areas_of_losses_that_are_not_negative_only_grow(drawn: tuple[list[float], list[float]]) -> None:
    """What the area bound of pruning rests on."""
    positions, losses = drawn[0], [abs(loss) for loss in drawn[1]]
    areas = [integral(positions[:end], losses[:end]) for end in range(1, len(losses) + 1)]
    assert areas == sorted(areas)


@given(st.lists(st.floats(), max_size=10), st.floats(0, 1e300))
def test_any_curve_has_a_summary(losses: list[float], seconds: float) -> None:
    summary = summarize(curve(*losses, seconds=seconds))
    assert summary.finite == all(map(math.isfinite, losses))
    for value in (summary.area_seconds, summary.area_images, summary.area_steps):
        assert value is None or math.isfinite(value)
