"""About how many seeds `repeats: auto` will take, told before any trial has run: the mean over simulated groups.

The areas of a simulated group are drawn from what `sweeper.ranking.belief` takes for usual of any sweep, and the noise
with them. Its seeds are then chosen as those of a real one are, but for the model: here it knows what areas were drawn
from. A real sweep with more noise, or with more settings that are nearly as good as the best, takes more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sweeper.ranking import Key, group_key
from sweeper.ranking.belief import USUAL_LENGTH, USUAL_OWN, inputs_of, one_thread
from sweeper.ranking.next_seeds import Prospect, likeliest, next_seeds, round_of
from sweeper.ranking.noise import USUAL_NOISE
from sweeper.ranking.settings import without_seed
from sweeper.spec.repeats import LEVEL, Race

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_GROUPS = 12  # that are simulated
_MOST = 100  # settings of each: evenly chosen of more
_USUAL_SPREAD = 0.15  # of the logarithms of a group's areas, one standard deviation


def trials_ahead(settings: Iterable[Mapping[str, Any]], group_by: Sequence[str], race: Race) -> int:
    """About how many trials a sweep of these settings has in the end, which get their seeds by a race.

    `settings` are the parameters of each; a seed among them does not count.
    """
    groups: dict[Key, list[Mapping[str, Any]]] = {}
    for one in settings:
        groups.setdefault(group_key(one, group_by), []).append(without_seed(one))
    further: dict[int, float] = {}  # by the number of settings: groups of a grid are alike
    for members in groups.values():
        if len(members) not in further:
            further[len(members)] = seeds_ahead(members, race)
    begin = race.at_least * sum(map(len, groups.values()))
    found = begin + round(sum(further[len(members)] for members in groups.values()))
    return found if race.trials is None else min(found, race.trials)


def seeds_ahead(settings: Sequence[Mapping[str, Any]], race: Race) -> float:
    """How many seeds a group of these settings gets beyond the first ones: the mean over simulated groups."""
    import numpy as np

    every = math.ceil(len(settings) / _MOST)
    inputs = inputs_of(list(settings)[::every])
    random = np.random.default_rng(0)
    with one_thread():
        return sum(_seeds(_Simulated(inputs, race.at_least, random), race) for _ in range(_GROUPS)) / _GROUPS


class _Simulated:
    """A group whose areas are known to nobody but it, and what is believed of them after so many seeds of each."""

    def __init__(self, inputs: Array, seeds: int, random: np.random.Generator) -> None:
        import numpy as np
        from sklearn.gaussian_process.kernels import Matern

        number = len(inputs)
        prior = _USUAL_SPREAD**2 * Matern(USUAL_LENGTH, nu=2.5)(inputs) + USUAL_OWN**2 * np.eye(number)
        self._random = random
        self._truth = random.multivariate_normal(np.zeros(number), prior)
        seen = self._truth + USUAL_NOISE / math.sqrt(seeds) * random.standard_normal(number)
        gain = np.linalg.solve(prior + USUAL_NOISE**2 / seeds * np.eye(number), prior).T
        noise = np.full((1, number), USUAL_NOISE**2)
        self.believed = Prospect(np.tile(gain @ seen, 2), np.tile(prior - gain @ prior, (2, 2)), noise)

    def train(self, setting: int) -> None:
        """One more seed of a setting."""
        seen = self._truth[[setting]] + USUAL_NOISE * self._random.standard_normal(1)
        self.believed = self.believed.after(setting, seen)


def _seeds(group: _Simulated, race: Race) -> int:
    """How many seeds the group gets until its race is over."""
    room = dict.fromkeys(range(group.believed.settings), race.at_most - race.at_least)
    while True:
        chances = group.believed.chances()
        is_over = chances.max() >= race.level if race.regret is None else group.believed.regret() <= race.regret
        rivals = {one: room[one] for one in likeliest(chances, max(LEVEL, race.level)) if room[one]}
        if is_over or not rivals:
            return sum(race.at_most - race.at_least - left for left in room.values())
        for setting in next_seeds(group.believed, rivals, round_of(rivals), race.regret):
            group.train(setting)
            room[setting] -= 1
