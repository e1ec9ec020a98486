"""How many trials it takes to choose a setting that is hardly worse than the best: `repeats: auto` and equal repeats.

On simulated sweeps of 54 settings whose true areas are known: a valley in batch size and rate that ends at a cliff of
high rates, where the noise grows, too. The noise of an area near the best is that of a recorded sweep, 3.5 %. Equal
repeats give all settings a seed more until the model expects the wanted regret, as `repeats: auto` does. Beside them is
the number of equal repeats from which on the smallest mean area has that regret, in the mean over all sweeps: to know
it one has to know the true areas.
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from benchmarks.measure import Row, add_arguments, report, spread, versions
from sweeper.guides.race import due
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate, Group, Key
from sweeper.ranking.belief import beliefs
from sweeper.ranking.seeds_ahead import trials_ahead
from sweeper.ranking.settings import rank_groups, setting_key
from sweeper.spec.repeats import Race

NOISE = 0.035
_MOST = 6  # seeds of the smallest mean area
BATCHES, RATES = [16, 32, 64, 128, 256, 512], [0.02, 0.03, 0.05, 0.08, 0.13, 0.22, 0.36, 0.6, 1.0]
Setting: TypeAlias = tuple[int, float]


@dataclass
class SimulatedSweep:
    """A sweep of one group: `truth` has the logarithm of each setting's area, `noise` how far its runs lie apart."""

    truth: Mapping[Setting, float]
    noise: Mapping[Setting, float]
    random: np.random.Generator
    trials: list[Candidate] = field(default_factory=list)

    def train(self, setting: Setting) -> None:
        """One more seed of a setting."""
        batch, rate = setting
        seed = sum(setting_of(one) == setting for one in self.trials)
        parameters = {"batch_size": batch, "learning_rate": rate, "workers": 1, "seed": seed}
        area = math.exp(self.truth[setting] + self.noise[setting] * self.random.normal())
        number = len(self.trials)
        self.trials.append(Candidate(f"t{number}", parameters, TrialState.COMPLETED, True, area, 0.5, 1.0, 1, number))

    def train_all(self) -> None:
        """One more seed of every setting."""
        for setting in self.truth:
            self.train(setting)

    @property
    def group(self) -> Group:
        """As the ranking sees it."""
        return rank_groups(self.trials, None, ("workers",), Race())[0]

    def regret(self, chosen: Candidate) -> float:
        """How much larger the area of what was chosen is than the best one's, in truth."""
        return math.exp(self.truth[setting_of(chosen)] - min(self.truth.values())) - 1


def setting_of(one: Candidate) -> Setting:
    """Batch size and rate."""
    return one.parameters["batch_size"], one.parameters["learning_rate"]


def simulated(seed: int, noise: float = NOISE, batches: int = 6, rates: int = 9) -> SimulatedSweep:
    """A valley of random place, width and slant; nothing has been trained."""
    random = np.random.default_rng(seed)
    across, along = random.normal(0, 1, 2)
    steep, flat = random.uniform(0.05, 0.3, 2)
    truth, sizes = {}, {}
    for x, batch in enumerate(BATCHES[:batches]):
        for y, rate in enumerate(RATES[:rates]):
            u = 3 * (x - (batches - 1) / 2) / batches - across
            v = 4 * (y - (rates - 1) / 2) / rates - along - 0.4 * u
            truth[batch, rate] = steep * u * u + flat * v * v + 0.1 * math.exp(1.5 * (v - 1.5))
            sizes[batch, rate] = noise * (1 + 2 * max(0.0, v - 0.5))
    return SimulatedSweep(truth, sizes, random)


@dataclass(frozen=True)
class Spent:
    """What a way of giving seeds took, and what it chose in the end: true and expected regret."""

    trials: int
    regret: float
    expected: float
    seconds: float = 0.0  # of the slowest decision


def by_race(sweep: SimulatedSweep, race: Race) -> Spent:
    """`repeats: auto` from the first seeds to its end."""
    for _ in range(race.at_least):
        sweep.train_all()
    slowest = 0.0
    while True:
        group, tried = sweep.group, dict[Key, int]()
        for one in sweep.trials:
            tried[setting_key(one.parameters)] = tried.get(setting_key(one.parameters), 0) + 1
        begun = time.perf_counter()
        settings = due(group, race, tried, None)
        slowest = max(slowest, time.perf_counter() - begun)
        if not settings:
            return _spent(sweep, slowest)
        for setting in settings:
            sweep.train(setting_of(setting))


def by_equal_repeats(sweep: SimulatedSweep, regret: float, at_most: int = 10) -> Spent:
    """One more seed of every setting at a time, until the model expects the wanted regret or all have so many."""
    for _ in range(at_most):
        sweep.train_all()
        spent = _spent(sweep)
        if spent.expected <= regret:
            break
    return spent


def _spent(sweep: SimulatedSweep, slowest: float = 0.0) -> Spent:
    found = beliefs(sweep.group, None)
    assert found
    return Spent(len(sweep.trials), sweep.regret(found.recommended.setting), found.recommended.regret, slowest)


def regrets_by_smallest_mean(sweep: SimulatedSweep, at_most: int) -> list[float]:
    """The true regret of the setting with the smallest mean area, after each seed of all settings."""
    found = []
    for _ in range(at_most):
        sweep.train_all()
        winner = sweep.group.winner
        assert winner
        found.append(sweep.regret(winner))
    return found


def rows(count: int, regret: float) -> Iterator[Row]:
    """What `repeats: auto` took to a wanted regret, beside equal repeats, and how good its answers are."""
    race, used = Race(regret=regret), versions("numpy", "scipy", "scikit-learn")
    by_race(simulated(0), race)  # loads what it needs
    auto = [by_race(simulated(seed), race) for seed in range(count)]
    equal = [by_equal_repeats(simulated(seed), regret) for seed in range(count)]
    plain = [regrets_by_smallest_mean(simulated(seed), _MOST) for seed in range(count)]
    settings = len(simulated(0).truth)
    spent = [float(one.trials) for one in auto]
    named = f"to {100 * regret:g} %"

    def against(name: str, value: float, baseline: str, than: float, unit: str = "", off: float = 0.0) -> Row:
        return Row(f"{name} {named}", value, unit, baseline, than, value / than if than else None, count, off, used)

    mean, of_equal = statistics.fmean(spent), statistics.fmean(one.trials for one in equal)
    yield against("trials", mean, "equal repeats until the model says so", of_equal, off=spread(spent))
    means = [statistics.fmean(one) for one in zip(*plain, strict=True)]
    enough = next((seeds for seeds, found in enumerate(means, 1) if found <= regret), _MOST)
    yield against("trials", mean, "fewest equal repeats, smallest mean", float(settings * enough), off=spread(spent))
    yield against("trials beyond one seed each", mean - settings, "equal repeats", of_equal - settings)
    yield against("true regret", statistics.fmean(one.regret for one in auto), "wanted", regret)
    told = trials_ahead([one.parameters for one in _first(0).trials], ("workers",), race)
    yield against("trials", mean, "told beforehand", float(told))
    took = [1e3 * one.seconds for one in auto]
    yield Row(f"slowest decision {named}", statistics.median(took), "ms", "", None, None, count, spread(took), used)


def decision_row() -> Row:
    """Milliseconds that a round's decision takes with 54 settings of five seeds each."""
    took = [1e3 * _decided(seed) for seed in range(6)][1:]
    return Row(
        "decision, 54 settings x 5 seeds", statistics.median(took), "ms", "", None, None, 5, spread(took), versions()
    )


def _decided(seed: int) -> float:
    sweep = simulated(seed)
    for _ in range(5):
        sweep.train_all()
    tried = {setting_key(one.parameters): 5 for one in sweep.trials}
    group, begun = sweep.group, time.perf_counter()
    due(group, Race(regret=0.0001), tried, None)
    return time.perf_counter() - begun


def _first(seed: int) -> SimulatedSweep:
    sweep = simulated(seed)
    sweep.train_all()
    return sweep


def main() -> None:
    """Run it, and show and write the rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repeating", description=__doc__)
    add_arguments(parser)
    parser.add_argument("--sweeps", type=int, default=200, help="simulated sweeps; 12 with --quick")
    parser.add_argument("--regret", type=float, default=0.01, help="that is wanted, as a share; 0.005 with --quick")
    given = parser.parse_args()
    count, regret = (12, 0.005) if given.quick else (given.sweeps, given.regret)
    report(itertools.chain([decision_row()], rows(count, regret)), given.json)


if __name__ == "__main__":
    main()
