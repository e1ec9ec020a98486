"""A positive number that is not known exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.stats import t as student

LEVEL = 0.95  # of all intervals of forecasts
_LARGEST = 700.0  # whose exponential is a float
NORMAL = 1.96  # deviations that the interval reaches to either side, of a normal distribution


@dataclass(frozen=True)
class Estimate:
    """A value, and how far its logarithm may be off to either side at `LEVEL`: so an interval never goes below zero."""

    value: float
    reach: float = 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """From, to."""
        return self.value * math.exp(-self.reach), self.value * math.exp(min(self.reach, _LARGEST))

    def __mul__(self, other: Estimate | float) -> Estimate:
        """The product; errors of two estimates are independent of each other."""
        if isinstance(other, Estimate):
            return Estimate(self.value * other.value, math.hypot(self.reach, other.reach))
        return Estimate(self.value * other, self.reach)


def reach_of(degrees: int) -> float:
    """Deviations that an interval at `LEVEL` reaches to either side, where they are known from so few degrees."""
    return float(student.ppf((1 + LEVEL) / 2, degrees))
