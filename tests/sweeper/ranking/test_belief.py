"""How likely each setting is the best: on simulated sweeps whose truth is known, and on recorded ones with seeds."""

from __future__ import annotations

import lzma
import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate, Group
from sweeper.ranking.belief import Beliefs, beliefs
from sweeper.ranking.settings import rank_groups

STUDY = Path(__file__).parents[3] / "experiments" / "cifar10_sweep"
Setting = tuple[int, float]
BATCHES, RATES = [16, 32, 64, 128, 256, 512], [0.02, 0.03, 0.05, 0.08, 0.13, 0.22, 0.36, 0.6, 1.0]


def trial(number: int, area: float, minimum_loss: float = 0.5, **parameters: Any) -> Candidate:
    return Candidate(f"t{number}", parameters, TrialState.COMPLETED, True, area, minimum_loss, 1.0, 1, number)


def group_of(trials: Sequence[Candidate], threshold: float | None = None, repeats: int = 1) -> Group:
    (group,) = rank_groups(trials, threshold, ("workers",), repeats)
    return group


def setting_of(one: Candidate) -> Setting:
    return one.parameters["batch_size"], one.parameters["learning_rate"]


@dataclass
class Case:
    """A sweep, and the true area of each of its settings."""

    group: Group
    truth: Mapping[Setting, float]
    threshold: float | None = None

    @property
    def best(self) -> Setting:
        candidates = {setting_of(one) for one in self.group.ranking}
        return min(candidates, key=self.truth.__getitem__)

    def regret(self, chosen: Candidate) -> float:
        return min(1.0, self.truth[setting_of(chosen)] / self.truth[self.best] - 1)


def simulated(seed: int, noise: float = 0.03, seeds: int = 1, batches: int = 6, rates: int = 9) -> Case:
    """A valley in batch size and rate that ends at a cliff of high rates, where the noise grows, too."""
    random = np.random.default_rng(seed)
    across, along = random.normal(0, 1, 2)
    steep, flat = random.uniform(0.05, 0.3, 2)
    truth: dict[Setting, float] = {}
    trials: list[Candidate] = []
    for x, batch in enumerate(BATCHES[:batches]):
        for y, rate in enumerate(RATES[:rates]):
            u = 3 * (x - (batches - 1) / 2) / batches - across
            v = 4 * (y - (rates - 1) / 2) / rates - along - 0.4 * u
            height = steep * u * u + flat * v * v + 0.1 * math.exp(1.5 * (v - 1.5))
            truth[batch, rate] = math.exp(height)
            for repeat in range(seeds):
                off = noise * (1 + 2 * max(0.0, v - 0.5)) * random.normal()
                given = {"batch_size": batch, "learning_rate": rate, "workers": 1}
                given |= {"seed": repeat} if seeds > 1 else {}
                trials.append(trial(len(trials), math.exp(height + off), **given))
    return Case(group_of(trials, repeats=seeds), truth)


def recorded() -> Iterator[Case]:
    """Each seed's grid of the study with one and two workers, as if a step cost a fixed time beside its images.

    The truth is the mean area of the other seeds, over the share of them that come to the threshold.
    """
    grids = _recorded_grids()
    for seeds in grids:
        for fixed in (0, 8, 32, 128, 1024):
            for threshold in (1.8, 1.6, 1.4, 1.2):
                for number, own in enumerate(seeds):
                    others = [grid for place, grid in enumerate(seeds) if place != number]
                    yield _case(own, others, threshold, fixed)


_Grid = Mapping[Setting, tuple[float, float]]


def _case(own: _Grid, others: Sequence[_Grid], threshold: float, fixed: int) -> Case:
    def seconds(batch: int) -> float:
        return (fixed + batch) / batch

    trials = [
        trial(place, area * seconds(batch), loss, batch_size=batch, learning_rate=rate, workers=1)
        for place, ((batch, rate), (area, loss)) in enumerate(own.items())
    ]
    truth = {}
    for setting in own:
        found = [grid[setting] for grid in others if setting in grid]
        share = sum(loss <= threshold for _, loss in found) / len(others)
        mean = math.fsum(area for area, _ in found) / len(found) if found else math.inf
        truth[setting] = mean * seconds(setting[0]) / share if share else math.inf
    return Case(group_of(trials, threshold), truth, threshold)


def _recorded_grids() -> list[list[_Grid]]:
    """Areas over images and minimum losses by setting, for each seed, with one and with two workers."""
    with closing(sqlite3.connect(":memory:")) as store:
        store.deserialize(lzma.decompress((STUDY / "result" / "sweeps.db.xz").read_bytes()))
        query = (
            "SELECT parameters ->> 'batch_size', round(parameters ->> 'learning_rate', 3), area_images, minimum_loss "
            "FROM trial JOIN sweep ON sweep.id = sweep_id WHERE trial.state = 'completed' AND name = ? "
            "AND coalesce(parameters ->> 'seed', 0) = ?"
        )

        def grid(name: str, seed: int = 0) -> _Grid:
            return {(batch, rate): (area, loss) for batch, rate, area, loss in store.execute(query, (name, seed))}

        one = [grid("grid-1w"), *(grid("grids-1w", seed) for seed in range(1, 5))]
        return [one, [grid("shared-2w"), *(grid(f"shared-2w-seed{seed}") for seed in range(1, 5))]]


@dataclass
class Outcome:
    """How answers fared: their regrets beside those of the smallest areas, and what was promised beside what came."""

    recommended: float
    smallest: float
    promised: list[tuple[float, bool]]
    held: list[bool]


def outcome(cases: Iterator[Case]) -> Outcome:
    recommended, smallest, promised, held = [], [], [], []
    for case in cases:
        found = beliefs(case.group, case.threshold)
        assert found
        assert case.group.winner
        recommended.append(case.regret(found.recommended.setting))
        smallest.append(case.regret(case.group.winner))
        promised += [(one.probability, setting_of(one.setting) == case.best) for one in found.settings]
        held.append(case.best in {setting_of(one.setting) for one in found.not_ruled_out})
    return Outcome(math.fsum(recommended), math.fsum(smallest), promised, held)


def happened(promised: Sequence[tuple[float, bool]], low: float, high: float) -> tuple[int, int]:
    """How many events were given a chance in this range, and how many of them happened."""
    events = [came for chance, came in promised if low <= chance < high]
    return len(events), sum(events)


def test_the_recommended_setting_is_nearer_the_best_than_the_smallest_area() -> None:
    found = outcome(simulated(seed) for seed in range(20))
    assert found.recommended <= 0.7 * found.smallest
    assert sum(found.held) >= 17


@pytest.mark.long
def test_chances_on_simulated_sweeps_are_what_they_say() -> None:
    found = outcome(simulated(seed, noise) for seed in range(100) for noise in (0.01, 0.03, 0.1))
    assert found.recommended <= 0.7 * found.smallest
    assert sum(found.held) >= 0.93 * len(found.held)
    for low in (0.4, 0.5, 0.6, 0.7, 0.8):
        number, came = happened(found.promised, low, low + 0.1)
        assert number > 20
        assert (low - 3 * math.sqrt(0.25 / number)) * number <= came <= (low + 0.1) * number + 1.5 * math.sqrt(number)


@pytest.mark.long
def test_chances_on_recorded_sweeps_are_what_they_say() -> None:
    found = outcome(recorded())
    assert found.recommended <= 0.7 * found.smallest
    assert sum(found.held) >= 0.93 * len(found.held)
    number, came = happened(found.promised, 0.6, 0.7)
    assert number > 20
    assert came >= 0.6 * number - math.sqrt(0.25 * number)


@pytest.mark.parametrize(("noise", "seeds"), [(0.02, 1), (0.08, 1), (0.02, 3), (0.08, 3)])
def test_the_noise_is_told_by_neighbours_and_by_seeds(noise: float, seeds: int) -> None:
    shares = [told(simulated(seed, noise, seeds)).noise.share for seed in range(7)]
    assert noise / 2 < sorted(shares)[3] < noise * 2


def told(case: Case) -> Beliefs:
    found = beliefs(case.group, case.threshold)
    assert found
    return found


def test_what_told_it_is_counted() -> None:
    case = simulated(1, seeds=3, batches=3, rates=4)
    smallest = case.group.ranking[0].trials
    near = [one.area for each in case.group.members for one in each.trials if one.area]
    near = [area for area in near if area <= 3 * max(one.area or 0 for one in smallest)]
    noise = told(case).noise
    assert (noise.trials, noise.repeats) == (len(near), len(near) * 2 // 3)
    assert told(simulated(1, batches=3, rates=4)).noise.repeats == 0


def test_the_same_trials_give_the_same_answer() -> None:
    assert told(simulated(3)) == told(simulated(3))


def test_more_seeds_rule_more_out() -> None:
    once, often = (sum(len(told(simulated(seed, 0.08, seeds)).not_ruled_out) for seed in range(6)) for seeds in (1, 4))
    assert often < once


def test_further_seeds_are_few_where_a_setting_stands_out_and_many_where_areas_are_alike() -> None:
    clear = [trial(i, 10.0 * 1.2**i, workers=1, learning_rate=0.1 * 2**i) for i in range(8)]
    found = beliefs(group_of(clear), None)
    assert found
    assert found.more_seeds == 0
    assert found.recommended.setting.trial == "t0"
    random = np.random.default_rng(0)
    areas = np.exp(0.3 * random.normal(size=(6, 3)))
    alike = [
        trial(10 * i + seed, float(areas[i, seed]), workers=1, kind=f"kind {i}", seed=seed)
        for i in range(6)
        for seed in range(3)
    ]
    hard = beliefs(group_of(alike, repeats=3), None)
    assert hard
    assert len(hard.not_ruled_out) > 2
    assert hard.more_seeds is None


def test_a_setting_that_often_misses_the_threshold_is_not_recommended() -> None:
    """By area the larger rate is slightly better, but its neighbour's losses are far below the threshold."""
    random = np.random.default_rng(1)
    trials: list[Candidate] = []
    for number, rate in enumerate([0.05, 0.1, 0.2, 0.4, 0.8]):
        for seed in range(6):
            loss = 0.4 * math.exp(0.9 * number * number / 9 + (0.02 + 0.03 * number) * random.normal())
            area = 10 * math.exp(-0.02 * number + 0.01 * random.normal())
            trials.append(trial(len(trials), area, loss, workers=1, learning_rate=rate, seed=seed))
    threshold = max(one.minimum_loss or 0 for one in trials if one.parameters["learning_rate"] == 0.4) * 1.001
    group = group_of(trials, threshold, 6)
    found = beliefs(group, threshold)
    assert found
    assert group.winner
    assert group.winner.parameters["learning_rate"] == 0.4
    chances = {one.setting.parameters["learning_rate"]: one.qualifies for one in found.settings}
    assert chances[0.2] > 0.99 > chances[0.4]
    assert found.recommended.setting.parameters["learning_rate"] == 0.2


def test_a_seed_that_was_swept_is_none_of_the_setting() -> None:
    trials = [
        trial(10 * i + seed, 10.0 * 1.1**i * (1 + 0.01 * seed), workers=1, learning_rate=0.1 * 2**i, seed=seed)
        for i in range(4)
        for seed in range(3)
    ]
    found = beliefs(group_of(trials), None)
    assert found
    assert len(found.settings) == 4
    assert found.noise.repeats == 8


def test_values_that_are_no_numbers_have_chances_as_well() -> None:
    trials = [
        trial(i, 10.0 + 5 * (method == "ring") + 0.1 * i, workers=1, learning_rate=rate, method=method)
        for i, (rate, method) in enumerate((rate, method) for rate in (0.1, 0.2, 0.4) for method in ("auto", "ring"))
    ]
    found = beliefs(group_of(trials), None)
    assert found
    assert found.recommended.setting.parameters["method"] == "auto"
    assert sum(one.probability for one in found.settings) == pytest.approx(1.0)


def test_a_single_setting_is_surely_the_best() -> None:
    trials = [trial(i, 10.0 + 0.1 * i, workers=1, learning_rate=0.1, seed=i) for i in range(6)]
    found = beliefs(group_of(trials, repeats=6), None)
    assert found
    assert (found.recommended.probability, found.recommended.regret, found.more_seeds) == (1.0, 0.0, 0)


@pytest.mark.parametrize(
    ("areas", "loss", "threshold"),
    [
        ([3.0] * 5, 0.5, None),  # too few
        ([10.0 ** (70 * i - 250) for i in range(8)], 0.5, None),  # too few that are of one size
        ([3.0, 4.0, 5.0, 6.0, 7.0, 0.0], 0.5, None),
        ([-3.0, 4.0, 5.0, 6.0, 7.0, 8.0], 0.5, None),
        ([3.0, 4.0, 5.0, 6.0, 7.0, 8.0], 0.5, 0.4),  # none qualifies
        ([3.0, 4.0, 5.0, 6.0, 7.0, 8.0], -0.5, 0.4),
    ],
)
def test_nothing_is_said_where_a_model_cannot_be_had(areas: list[float], loss: float, threshold: float | None) -> None:
    trials = [trial(i, area, loss, workers=1, learning_rate=0.1 * (i + 1)) for i, area in enumerate(areas)]
    assert beliefs(group_of(trials, threshold), threshold) is None


def test_many_trials_are_looked_at_near_the_best_only() -> None:
    random = np.random.default_rng(2)
    trials = [
        trial(i, float(np.exp(rate**2 + 0.03 * random.normal())), workers=1, learning_rate=float(rate))
        for i, rate in enumerate(random.uniform(-1, 1, 3000))
    ]
    found = beliefs(group_of(trials), None)
    assert found
    assert found.noise.trials == 300
    assert abs(found.recommended.setting.parameters["learning_rate"]) < 0.2


AWKWARD = {
    "all alike": [5.0] * 8,
    "in two kinds": [5.0, 5.0, 5.0, 5.0, 7.0, 7.0, 7.0, 7.0],
    "hardly apart": [5.0 * (1 + 1e-15 * i) for i in range(8)],
    "far apart": [5.0 * 2**i for i in range(8)],
    "huge": [1e300 * (1 + 0.01 * i) for i in range(8)],
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("areas", AWKWARD.values(), ids=AWKWARD)
@pytest.mark.parametrize("repeats", [1, 4])
def test_awkward_areas_have_chances_as_well(areas: list[float], repeats: int) -> None:
    """Also with losses that are all the same, at the threshold."""
    trials = []
    for i, area in enumerate(areas):
        given = {"workers": 1, "learning_rate": 0.1 * (1 + i // repeats)}
        given |= {"seed": i % repeats} if repeats > 1 else {}
        trials.append(trial(i, area, 0.5, **given))
    found = beliefs(group_of(trials, 0.5, repeats), 0.5)
    assert found
    assert sum(one.probability for one in found.settings) == pytest.approx(1.0)
    assert all(math.isfinite(one.area) and one.area > 0 and one.regret >= 0 for one in found.settings)


def test_the_winner_is_looked_at_though_many_that_do_not_qualify_have_smaller_areas() -> None:
    trials = [trial(i, 1.0 + 0.001 * i, 0.9, workers=1, learning_rate=0.001 * (i + 1)) for i in range(700)]
    trials += [trial(700 + i, 2.5 + 0.01 * i, 0.5, workers=1, learning_rate=1.0 + 0.001 * i) for i in range(20)]
    found = beliefs(group_of(trials, 0.6), 0.6)
    assert found
    assert found.recommended.setting.minimum_loss == 0.5


def valley(trials: int = 9, **given: Any) -> list[Candidate]:
    """Trials of rates around the best one, 1.6, each with further parameters as `given` says of its number."""
    return [
        trial(i, 10.0 + abs(i - 4), workers=1, learning_rate=0.1 * 2**i, **{name: of(i) for name, of in given.items()})
        for i in range(trials)
    ]


@pytest.mark.parametrize(
    "given",
    [
        {"momentum": lambda i: None if i % 2 else 0.9 - 0.1 * i},  # only some have it
        {"run": lambda i: f"run-{i}"},  # each has its own
        {"huge": lambda i: 10**400 + i},
        {"same": lambda i: 0.1 + 0.2 - 0.3},  # noqa: ARG005
    ],
)
def test_awkward_parameters_have_chances_as_well(given: dict[str, Any]) -> None:
    found = beliefs(group_of(valley(**given)), None)
    assert found
    assert found.recommended.setting.parameters["learning_rate"] == pytest.approx(1.6)


def test_of_names_that_each_setting_has_anew_nothing_is_learnt() -> None:
    plain = beliefs(group_of(valley(15)), None)
    named = beliefs(group_of(valley(15, run=lambda i: f"run-{i}")), None)
    assert plain
    assert named
    assert [one.probability for one in named.settings] == [one.probability for one in plain.settings]


def test_derived_trials_tell_nothing_of_the_noise() -> None:
    trained = simulated(1, batches=3, rates=4)
    members = list(trained.group.members)
    copies = [one._replace(trial=f"copy-{one.trial}", derived_from=one.trial) for one in members]
    both = beliefs(group_of([*members, *copies]), None)
    assert both
    assert both.noise == told(trained).noise


def test_of_trials_that_are_derived_from_other_groups_each_is_a_draw() -> None:
    trained = simulated(1, batches=3, rates=4)
    derived = [one._replace(derived_from=f"other-{one.trial}") for one in trained.group.members]
    found = beliefs(group_of(derived), None)
    assert found
    assert found.noise == told(trained).noise


def test_many_answers_at_once_leave_the_threads_as_they_were() -> None:
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import threadpool_info

    before = [one["num_threads"] for one in threadpool_info()]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda seed: told(simulated(seed, batches=3, rates=4)), range(8)))
    assert len(found) == 8
    assert [one["num_threads"] for one in threadpool_info()][: len(before)] == before
