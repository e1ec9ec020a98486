"""What training costs, by the hour of each worker, as an axis of areas.

Over dollars a curve goes along as far as its training has cost: seconds / 3600 x workers x rate. So an area over
dollars is the area over seconds times dollars per second, and needs no curve.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sweeper.ranking.rank import Candidate
from sweeper.spec import DOLLARS
from sweeper.spec.axes import WORKERS

SECONDS_PER_HOUR = 3600.0


def stored_axis(over: str) -> str:
    """The axis over which the store has the areas that those over this one are made of."""
    return "seconds" if over == DOLLARS else over


def dollars_per_second(parameters: Mapping[str, Any], rate: float) -> float:
    """What a second of a trial costs, with all its workers."""
    return float(rate * parameters[WORKERS] / SECONDS_PER_HOUR)


def over_dollars(candidate: Candidate, rate: float) -> Candidate:
    """A candidate over seconds with its area over dollars."""
    if candidate.area is None:
        return candidate
    return candidate._replace(area=candidate.area * dollars_per_second(candidate.parameters, rate))
