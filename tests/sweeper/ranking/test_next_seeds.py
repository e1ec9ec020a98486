"""Which setting gets the next seed: on cases whose answer is known by hand, and on simulated sweeps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.repeating import Spent, by_equal_repeats, by_race, simulated
from sweeper.ranking.next_seeds import Prospect, likeliest, next_seeds, round_of
from sweeper.spec.repeats import Race


def prospect(means: list[float], deviations: list[float], noise: float = 0.03) -> Prospect:
    """Settings that tell nothing of each other, whose seeds show their cost."""
    covariance = np.diag(np.square(deviations))
    return Prospect(np.tile(means, 2), np.tile(covariance, (2, 2)), np.full((1, len(means)), noise**2))


def test_the_value_of_a_seed_is_the_integral_of_what_it_may_change() -> None:
    """For two settings the mean of the smaller one is known: a - s (z Phi(z) + phi(z)) with z = (a - b) / s."""
    found = prospect([0.0, 0.01], [0.02, 0.02], noise=0.03)
    moves = 0.02**2 / math.sqrt(0.02**2 + 0.03**2)
    z = -0.01 / moves
    density, below = math.exp(-z * z / 2) / math.sqrt(2 * math.pi), 0.5 * math.erfc(-z / math.sqrt(2))
    for setting in (0, 1):
        assert found.value(setting) == pytest.approx(moves * (z * below + density), rel=0.05)
    assert found.value(1, 1) < found.value(1, 2) < found.value(1, 8)


def test_a_seed_goes_where_it_may_change_the_choice() -> None:
    room = dict.fromkeys(range(3), 8)
    assert next_seeds(prospect([0.0, 0.01, 0.5], [0.001, 0.03, 0.03]), room, 1) == [1], "the first is known well"
    assert next_seeds(prospect([0.0, 0.01, 0.02], [0.01, 0.01, 0.05]), room, 1) == [2], "the third may be far better"
    assert next_seeds(prospect([0.0, 0.01, 0.02], [0.01, 0.01, 0.05]), {0: 8, 1: 8}, 1) != [2], "it has no room"


def test_several_seeds_are_spread_over_settings_that_are_alike() -> None:
    found = next_seeds(prospect([0.0, 0.0, 0.0], [0.03] * 3), dict.fromkeys(range(3), 8), 6)
    assert sorted(found) == [0, 0, 1, 1, 2, 2]
    assert sorted(next_seeds(prospect([0.0, 0.0], [0.03] * 2), {0: 1, 1: 2}, 9)) == [0, 1, 1], (
        "all that there is room for"
    )
    assert next_seeds(prospect([0.0, 0.0], [0.03] * 2), {}, 3) == []


def test_there_are_no_more_seeds_than_bring_the_regret_to_the_wanted_one() -> None:
    believed, room = prospect([0.0, 0.005, 0.01], [0.02] * 3), dict.fromkeys(range(3), 50)
    found = next_seeds(believed, room, 100, wanted=0.6 * believed.regret())
    assert 1 < len(found) < 100
    later = [believed]
    for setting in found:
        later.append(later[-1].after(setting))
    regrets = [believed.regret(one) for one in later]
    assert regrets[-1] <= 0.6 * regrets[0] < regrets[-2]
    assert regrets == sorted(regrets, reverse=True)
    assert len(next_seeds(believed, room, 100, wanted=0.5)) == 1


def test_a_neighbour_s_seed_tells_too() -> None:
    """Of three settings the last two are one and the same in all but name: a seed of either tells of both."""
    covariance = np.array([[1e-6, 0, 0], [0, 9e-4, 9e-4], [0, 9e-4, 9e-4]])
    found = Prospect(np.tile([0.0, 0.01, 0.02], 2), np.tile(covariance, (2, 2)), np.full((1, 3), 9e-4))
    assert found.value(2) == pytest.approx(found.value(1))
    later = found.after(2, np.array([-0.04]))
    assert later.costs.argmin() == 1
    assert later.costs[1] == pytest.approx(0.01 - 0.06 * 9e-4 / (9e-4 + 9e-4))
    assert later.spread[1, 1] == pytest.approx(4.5e-4)


def test_what_a_seed_shows_of_the_minimum_loss_counts_where_costs_depend_on_it() -> None:
    """Areas are known; the cost of the second setting rises with its minimum loss."""
    spread = np.zeros((6, 6))
    spread[1, 1], spread[1, 5], spread[5, 1], spread[5, 5] = 0.04, 0.02, 0.02, 0.01
    spread += 1e-9 * np.eye(6)
    means = np.array([0.0, 0.01, 0.0, 0.01, -1.0, -1.0])
    found = Prospect(means, spread, np.array([[9e-4, 9e-4], [0.01, 0.01]]))
    assert found.value(1) > 0.01 > 1e-6 > found.value(0)
    assert found.regret() > found.regret(found.after(1))


def test_chances_and_regret_are_those_of_the_costs() -> None:
    found = prospect([0.0, 0.0, 1.0], [0.03, 0.03, 0.03])
    assert found.chances() == pytest.approx([0.5, 0.5, 0.0], abs=0.05)
    assert found.regret() == pytest.approx(0.03 / math.sqrt(math.pi), rel=0.1)
    assert found.of([2, 0]).costs.tolist() == [1.0, 0.0]
    assert found.of([2, 0]).regret() == pytest.approx(0.0, abs=1e-6)
    assert likeliest([0.3, 0.6, 0.1], 0.85) == [1, 0]
    assert [round_of(range(count)) for count in (1, 2, 3, 8)] == [1, 1, 2, 4]


def test_simulated_sweeps_come_to_the_wanted_regret_with_few_seeds() -> None:
    race = Race(regret=0.005)
    ended = [by_race(simulated(seed), race) for seed in range(6)]
    equal = [by_equal_repeats(simulated(seed), 0.005) for seed in range(6)]
    assert all(one.expected <= 0.005 for one in ended)
    assert sum(one.regret for one in ended) <= 6 * 0.01
    assert any(one.trials > 54 for one in ended)
    assert sum(one.trials for one in ended) < 0.8 * sum(one.trials for one in equal)


def _mean_regret(spent: list[Spent]) -> float:
    return sum(one.regret for one in spent) / len(spent)


@pytest.mark.long
@pytest.mark.parametrize(("noise", "regret"), [(0.02, 0.01), (0.035, 0.01), (0.035, 0.003), (0.1, 0.02)])
def test_the_regret_is_what_was_wanted_in_the_mean(noise: float, regret: float) -> None:
    """It is an expectation: single sweeps may have more, as long as their mean does not."""
    spent = [by_race(simulated(seed, noise), Race(regret=regret)) for seed in range(100)]
    assert all(one.expected <= regret or one.trials >= 60 for one in spent)
    deviation = np.std([one.regret for one in spent]) / math.sqrt(len(spent))
    assert _mean_regret(spent) <= regret + 2 * deviation
    # Markov: what is `regret` in the mean is above three times that in a third of cases at most.
    assert sum(one.regret > 3 * regret for one in spent) <= len(spent) / 3


@pytest.mark.long
def test_a_race_at_a_level_ends_with_the_best_as_often_as_it_says() -> None:
    """Those within a thousandth of the best are as good as it."""
    spent = [by_race(simulated(seed, batches=3, rates=4), Race(level=0.8, at_most=30)) for seed in range(100)]
    assert sum(one.regret <= 0.001 for one in spent) >= 80 - 2 * math.sqrt(100 * 0.8 * 0.2)
