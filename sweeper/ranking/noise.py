"""How much the area of a setting varies from seed to seed, told by the seeds so far and by what is usual."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable
from statistics import fmean

# 3 % of an area, give or take a factor of 3: a scaled inverse-chi-squared distribution of one degree of freedom.
USUAL_NOISE, _DEGREES = 0.03, 1


class SeedNoise:
    """The standard deviation of the logarithm of an area over seeds, which is nearly its share of the area.

    The variance is the posterior's of a normal distribution with known means (Gelman et al., Bayesian Data Analysis,
    section 2.6), with a degree of freedom less for each setting, whose mean is not known. Without a setting of several
    seeds it is what is usual.
    """

    def __init__(self) -> None:
        self._logarithms: dict[Hashable, list[float]] = defaultdict(list)

    def add(self, setting: Hashable, area: float) -> None:
        """The area of another seed of a setting; one that is not above zero tells nothing."""
        if 0 < area < math.inf:
            self._logarithms[setting].append(math.log(area))

    @property
    def share(self) -> float:
        """The standard deviation, as a share of an area."""
        several = [values for values in self._logarithms.values() if len(values) > 1]
        squares = sum((value - fmean(values)) ** 2 for values in several for value in values)
        degrees = sum(len(values) - 1 for values in several)
        return math.sqrt((_DEGREES * USUAL_NOISE**2 + squares) / (_DEGREES + degrees))
