"""Long curves for screens: fewer points that draw the same picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Thinned:
    """The kept indices of a curve, ascending, and those of them whose value is not finite."""

    kept: tuple[int, ...]
    not_finite: tuple[int, ...]


def thin(values: Sequence[float], most: int) -> Thinned:
    """At most `most` points of a curve in their order, and every one that is not finite, however many these are.

    The finite ones are cut into spans of as many points each, of which the smallest and the largest value stay, so that
    no peak is lost: the lowest and highest of all are always among them, and so are the first and the last. With
    `most` below 4 there is no room for that: then these 4 at most stay all the same.
    """
    not_finite = tuple(i for i, value in enumerate(values) if not math.isfinite(value))
    if len(values) <= most:
        return Thinned(tuple(range(len(values))), not_finite)
    finite = [i for i, value in enumerate(values) if math.isfinite(value)]
    kept = {*not_finite, *_peaks(values, finite, max(most - len(not_finite), 4))}
    return Thinned(tuple(sorted(kept)), not_finite)


def _peaks(values: Sequence[float], finite: Sequence[int], most: int) -> set[int]:
    if len(finite) <= most:
        return set(finite)
    spans = (most - 2) // 2  # the first and the last point have their own places
    kept = {finite[0], finite[-1]}
    for number in range(spans):
        span = finite[number * len(finite) // spans : (number + 1) * len(finite) // spans]
        kept |= {min(span, key=values.__getitem__), max(span, key=values.__getitem__)}
    return kept
