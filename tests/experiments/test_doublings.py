"""Axes against something that doubles: logarithmic, or linear from zero."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from experiments.doublings import along_counts, along_doublings, draw_line, spans_a_decade

COUNTS = [2, 4, 8]


@pytest.mark.parametrize(
    ("values", "spans"),
    [([], False), ([0.0], False), ([3.0], False), ([23.0, 63.0], False), ([0.0, 1.0, 9.9], False), ([1.0, 10.0], True)],
)
def test_less_than_a_decade_is_shown_from_zero(values: list[float], spans: bool) -> None:
    assert spans_a_decade(values) is spans


def test_ticks_stand_at_the_values_and_linear_axes_begin_at_zero() -> None:
    straight, doublings, logarithmic = Figure().subplots(1, 3)
    for axes in (straight, doublings, logarithmic):
        draw_line(axes, 0, COUNTS, [0.2, 0.4, 0.8], "a line")
    along_counts(straight, COUNTS, "workers")
    along_doublings(doublings, COUNTS, "workers", logarithmic=False)
    along_doublings(logarithmic, COUNTS, "workers")
    scales = [(axes.get_xscale(), axes.get_yscale()) for axes in (straight, doublings, logarithmic)]
    assert scales == [("linear", "linear"), ("log", "linear"), ("log", "log")]
    assert straight.get_ylim()[0] == doublings.get_ylim()[0] == 0
    for axes in (straight, doublings, logarithmic):
        assert axes.get_xticks().tolist() == COUNTS
