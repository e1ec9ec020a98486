"""Where the seconds of imported logs begin: at zero, or at each log's first point. Decided once for a whole import."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any

from sweeper.ranking.curve import CurveSummary, LossPoint
from sweeper.ranking.time_origin import why_not_from_zero


class TimeOrigin(StrEnum):
    """Seconds count from zero, or from each log's first point."""

    ZERO = "zero"
    FIRST = "first"


@dataclass(frozen=True)
class DecidedOrigin:
    """The origin of an import; where it was `guessed` to be the first point, areas over seconds are left out."""

    origin: TimeOrigin
    guessed: str = ""

    def applied(self, points: Sequence[LossPoint], exact: Sequence[Decimal] = ()) -> tuple[LossPoint, ...]:
        """A curve whose seconds count from the origin; `exact` are these with all of their digits, where known."""
        if self.origin is TimeOrigin.ZERO:
            return tuple(points)
        if exact:
            return tuple(replace(point, seconds=float(at - exact[0])) for point, at in zip(points, exact, strict=True))
        return tuple(replace(point, seconds=point.seconds - points[0].seconds) for point in points)

    def ranked(self, summary: CurveSummary) -> CurveSummary:
        """What is kept of a curve: without an area over seconds where nobody has said where these begin."""
        return replace(summary, area_seconds=None) if self.guessed else summary

    def told(self, points: Sequence[LossPoint]) -> dict[str, Any]:
        """What an attempt keeps of a log's own times, which were `applied`."""
        if self.origin is TimeOrigin.ZERO or not points or math.isnan(points[0].seconds):
            return {}
        return {"import": {"origin": self.origin.value, "first_seconds": points[0].seconds}}

    @property
    def notes(self) -> list[str]:
        """What the import says of it, in a sentence each."""
        if not self.guessed:
            return []
        return [
            f"{self.guessed}: seconds count from each log's first point, and nothing is ranked over seconds; import "
            "again with --origin first to rank by these seconds, or with --origin zero if training began at 0 s"
        ]


def decide_origin(chosen: str | None, logs: Iterable[tuple[str, Sequence[float]]]) -> DecidedOrigin:
    """The chosen origin, else zero where the seconds of all logs, each by its name, look like durations.

    See `sweeper.ranking.time_origin.why_not_from_zero` for what these look like.
    """
    if chosen is not None:
        return DecidedOrigin(TimeOrigin(chosen))
    for name, seconds in logs:
        known = [second for second in seconds if not math.isnan(second)]
        if reason := why_not_from_zero(known):
            return DecidedOrigin(TimeOrigin.FIRST, f"{name}: {reason}")
    return DecidedOrigin(TimeOrigin.ZERO)
