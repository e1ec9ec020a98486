"""A mean with its interval."""

from __future__ import annotations

import pytest

from experiments.intervals import with_interval


@pytest.mark.parametrize(
    ("interval", "unit", "written"),
    [
        (None, "", "2.50"),
        (None, " s", "2.50 s"),
        ((2.0, 3.0), "", "2.50 (2.00 to 3.00)"),
        ((-0.5, 5.5), " %", "2.50 % (-0.50 to 5.50)"),
    ],
)
def test_numbers_are_written_alike(interval: tuple[float, float] | None, unit: str, written: str) -> None:
    assert with_interval(2.5, interval, "{:.2f}".format, unit) == written
