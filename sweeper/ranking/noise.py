"""How much the area of a setting varies from seed to seed, told by the seeds so far and by what is usual."""

from __future__ import annotations

import math
from collections.abc import Hashable

# 3 % of an area, give or take a factor of 3: a scaled inverse-chi-squared distribution of one degree of freedom.
USUAL_NOISE, _DEGREES = 0.03, 1


class SeedNoise:
    """The standard deviation of the logarithm of an area over seeds, which is nearly its share of the area.

    The variance is the posterior's of a normal distribution with known means (Gelman et al., Bayesian Data Analysis,
    section 2.6), with a degree of freedom less for each setting, whose mean is not known. Without a setting of several
    seeds it is what is usual.
    """

    def __init__(self) -> None:
        self._means: dict[Hashable, tuple[int, float]] = {}  # of the logarithms of a setting's areas, and their number
        self._squares, self._degrees = _DEGREES * USUAL_NOISE**2, _DEGREES

    def add(self, setting: Hashable, area: float) -> None:
        """The area of another seed of a setting; one that is not above zero tells nothing."""
        if not 0 < area < math.inf:
            return
        seeds, mean = self._means.get(setting, (0, 0.0))
        off = math.log(area) - mean
        self._means[setting] = seeds + 1, mean + off / (seeds + 1)
        if seeds:  # one more degree of freedom, and what it adds to the squares (Welford)
            self._squares += off**2 * seeds / (seeds + 1)
            self._degrees += 1

    @property
    def share(self) -> float:
        """The standard deviation, as a share of an area."""
        return math.sqrt(self._squares / self._degrees)
