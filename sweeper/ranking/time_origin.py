"""Whether the times of a log from elsewhere are durations since the training began."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

# No training takes thirty years: larger seconds are a clock's, counted from 1970.
CLOCK_SECONDS = 1e9
_MOST_INTERVALS = 3


def why_not_from_zero(seconds: Sequence[float]) -> str:
    """Why the seconds of a log's points, which rise, do not look like durations from zero; empty where they do.

    They do where the first is zero or more, at most three times the median interval between points, and no time of a
    clock. One point alone tells no interval.
    """
    if not seconds:
        return ""
    first = seconds[0]
    if first >= CLOCK_SECONDS:
        return "its seconds are those of a clock"
    if first < 0:
        return f"its seconds begin below zero, at {first:.6g}"
    intervals = [after - before for before, after in pairwise(seconds)]
    if intervals and first > _MOST_INTERVALS * (usual := median(intervals)):
        return f"its first point lies at {first:.6g} s, and its points are {usual:.6g} s apart"
    return ""
