"""Which setting gets the next seed: the one whose seed is expected to lower most what the choice loses by chance.

The rule is the knowledge gradient for correlated beliefs (Frazier, Powell and Dayanik 2009, The knowledge-gradient
policy for correlated normal beliefs). The regret is how much larger the cost of the chosen setting is than that of the
best one. A seed lowers it, in expectation, by as much as the smallest of the expected costs falls. A single seed often
changes no choice though several would, so that its value is nothing. So what is compared is the value of one, two, four
or eight seeds of a setting, each over their number (Frazier and Powell 2010, Paradoxes in learning and the marginal
value of information).

Several seeds are chosen at once as if those chosen before were there: they show as much as they will, whatever it is.

Costs are logarithms, so that a regret is a share of the best one's cost, near enough where it is small. NumPy and SciPy
are imported only where seeds are chosen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Places = NDArray[np.integer[Any]]

_TOGETHER = (1, 2, 4, 8)  # seeds of one setting whose value is looked at
_NODES = {1: 40, 2: 16}  # of the quadrature, by the number of things that a seed shows
_DRAWS = 2000


@dataclass(frozen=True)
class Prospect:
    """What is believed of settings, and what a seed of each would show: all of it normally distributed.

    A seed shows one thing or two: the logarithm of its area, and where there is a threshold that of its minimum loss.
    `means` has the logarithms of the settings' costs, then those of what seeds show: [(1 + shown) * settings].
    `covariance` has as many rows and columns. `noise` is the variance by which one seed is off: [shown, settings].
    """

    means: Array
    covariance: Array
    noise: Array

    @property
    def settings(self) -> int:
        """Their number."""
        return len(self.noise[0])

    @property
    def costs(self) -> Array:
        """The logarithm of each setting's expected cost."""
        return self.means[: self.settings]

    @property
    def spread(self) -> Array:
        """The covariance of the costs."""
        return self.covariance[: self.settings, : self.settings]

    def value(self, setting: int, seeds: int = 1) -> float:
        """By how much so many seeds of a setting are expected to lower the regret: 0 where they change no choice."""
        import numpy as np

        shown, among = self._shown(setting, seeds)
        root = np.linalg.cholesky(among)
        moves = np.linalg.solve(root, self.covariance[shown, : self.settings])  # [shown, settings]
        nodes, weights = _quadrature(len(shown))
        return max(0.0, float(self.costs.min() - (self.costs + nodes @ moves).min(axis=1) @ weights))

    def after(self, setting: int, seen: Array | None = None) -> Prospect:
        """What is believed after one more seed of a setting, which shows what is `seen`: [shown].

        Without that the means stay, as they do in expectation.
        """
        import numpy as np

        shown, among = self._shown(setting, 1)
        gain = np.linalg.solve(among, self.covariance[shown]).T  # [all, shown]
        means = self.means if seen is None else self.means + gain @ (seen - self.means[shown])
        return Prospect(means, self.covariance - gain @ self.covariance[shown], self.noise)

    def regret(self, later: Prospect | None = None) -> float:
        """The expected regret of the setting with the smallest cost; `later` that of whichever it is then."""
        import numpy as np

        moves = np.zeros_like(self.spread) if later is None else self.spread - later.spread
        return max(0.0, float(self._least(moves).mean() - self._least(self.spread).mean()))

    def chances(self) -> Array:
        """How likely each setting is the best."""
        import numpy as np

        best = self._drawn(self.spread).argmin(axis=1)
        return np.bincount(best, minlength=self.settings) / _DRAWS

    def of(self, settings: Sequence[int]) -> Prospect:
        """The same of some settings alone, in this order."""
        import numpy as np

        chosen = np.array(settings)
        every = np.concatenate([chosen + kind * self.settings for kind in range(1 + len(self.noise))])
        return Prospect(self.means[every], self.covariance[np.ix_(every, every)], self.noise[:, chosen])

    def _shown(self, setting: int, seeds: int) -> tuple[Places, Array]:
        """The places of what a setting's seeds show, and the covariance of their means."""
        import numpy as np

        shown = setting + self.settings * np.arange(1, 1 + len(self.noise))
        return shown, self.covariance[np.ix_(shown, shown)] + np.diag(self.noise[:, setting] / seeds)

    def _least(self, covariance: Array) -> Array:
        import numpy as np

        return np.asarray(self._drawn(covariance).min(axis=1))

    def _drawn(self, covariance: Array) -> Array:
        """Costs with this covariance around their means: [draws, settings]; with the same random numbers each time."""
        import numpy as np

        values, axes = np.linalg.eigh(covariance)
        # The symmetric root: what is drawn hardly changes where the covariance hardly does.
        root = (axes * np.sqrt(values.clip(min=0))) @ axes.T
        return np.asarray(self.costs + _normal(self.settings) @ root)


def next_seeds(prospect: Prospect, room: Mapping[int, int], number: int, wanted: float | None = None) -> list[int]:
    """The settings that get the next seeds, `number` at most, in the order of what these tell; some more than one.

    `room` has the settings that may have any, and how many each. With a `wanted` regret there are no more than are
    expected to bring it there, but one.
    """
    left, believed, found = dict(room), prospect, list[int]()
    while len(found) < number and (may := [one for one, seeds in left.items() if seeds > 0]):
        chosen = max(may, key=lambda one: (_worth(believed, one, left[one]), -found.count(one)))
        found.append(chosen)
        left[chosen] -= 1
        believed = believed.after(chosen)
        if wanted is not None and prospect.regret(believed) <= wanted:
            break
    return found


def likeliest(chances: Sequence[float] | Array, level: float) -> list[int]:
    """The fewest settings that hold the best with a chance of `level`, likeliest first."""
    found, chance = list[int](), 0.0
    for setting in sorted(range(len(chances)), key=lambda one: -chances[one]):
        if chance >= level:
            break
        found.append(setting)
        chance += float(chances[setting])
    return found


def round_of(rivals: Collection[int]) -> int:
    """How many seeds are chosen before their outcome is known: half as many as settings may still be the best."""
    return (len(rivals) + 1) // 2


def _worth(prospect: Prospect, setting: int, room: int) -> float:
    """What a seed of a setting is worth, alone or with others of the same."""
    return max(prospect.value(setting, seeds) / seeds for seeds in _TOGETHER if seeds <= room)


@cache
def _quadrature(dimensions: int) -> tuple[Array, Array]:
    """Nodes and weights of Gauss and Hermite for standard normal numbers: [nodes, dimensions] and [nodes]."""
    import numpy as np

    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES[dimensions])
    grid = np.stack(np.meshgrid(*[nodes] * dimensions), axis=-1).reshape(-1, dimensions)
    products = np.prod(np.stack(np.meshgrid(*[weights / weights.sum()] * dimensions), axis=-1), axis=-1)
    return grid, products.ravel()


@cache
def _normal(columns: int) -> Array:
    """Standard normal numbers, a row each, and their opposites: [draws, columns]."""
    import numpy as np

    half = np.random.default_rng(0).standard_normal((_DRAWS // 2, columns))
    return np.concatenate([half, -half])
