"""Settings: the trials that differ in the seed of their repeats, ranked by their mean."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError

from sweeper.errors import SpecError
from sweeper.guides.samplers import first_points
from sweeper.plan import plan, with_seed
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate
from sweeper.ranking.settings import competitors, rank_groups, repeats_of
from sweeper.spec import StoredSpec, parse_spec
from sweeper.spec.repeats import Race, gives_seeds

REGRET: tuple[Any, int, bool] = ({"regret": "1%"}, 1, True)
NO_SHARE = "is no share above 0 % and below 100 %; give one, for example 1% or 0.01"


def trial(rate: float, seed: int, area: float | None = 1.0, minimum: float | None = 1.0, **others: Any) -> Candidate:
    parameters = {"workers": 1, "learning_rate": rate, "seed": seed}
    state = others.pop("state", TrialState.COMPLETED)
    return Candidate(f"{rate}-{seed}", parameters, state, True, area, minimum, **others)


def faults(repeats: Any, **others: Any) -> list[str]:
    with pytest.raises(SpecError) as caught:
        plan(parse_spec({"name": "x", "space": {"batch_size": [8, 16]}, "repeats": repeats, **others}), first_points)
    return caught.value.problems


def test_the_smallest_mean_wins_and_not_the_smallest_area() -> None:
    trials = [trial(0.1, 0, 1.0), trial(0.1, 1, 9.0), trial(0.2, 0, 3.0), trial(0.2, 1, 4.0)]
    (group,) = rank_groups(trials, None, ("workers",), 2)
    assert [(one.trial, one.area) for one in group.ranking] == [("0.2-0", 3.5), ("0.1-0", 5.0)]
    assert group.ranking[0].parameters == {"workers": 1, "learning_rate": 0.2}
    assert [one.trial for one in group.ranking[0].trials] == ["0.2-0", "0.2-1"]
    assert (group.trials, group.competitors) == (4, 2)
    (group,) = rank_groups(trials, None, ("workers",), 1)  # then a seed is a parameter as any other
    assert group.winner == trials[0]
    assert (group.trials, group.competitors) == (4, 4)


@pytest.mark.parametrize(
    ("last", "state"),
    [
        (trial(0.1, 2, 1.0, 1.9), TrialState.COMPLETED),
        (trial(0.1, 2, None, None, state=TrialState.DIVERGED), TrialState.DIVERGED),
        (trial(0.1, 2, None, None, state=TrialState.FAILED), TrialState.FAILED),
        (trial(0.1, 2, 0.5, 1.0, state=TrialState.PRUNED), TrialState.PRUNED),
        (trial(0.1, 2, None, None, state=TrialState.RUNNING), TrialState.RUNNING),
        (trial(0.1, 2, None, None, state=TrialState.PENDING), TrialState.PENDING),
        (trial(0.1, 2, None), TrialState.COMPLETED),
    ],
)
def test_a_setting_qualifies_when_all_its_repeats_do(last: Candidate, state: TrialState) -> None:
    trials = [trial(0.1, 0), trial(0.1, 1), last]
    (one,) = competitors(trials, 3)
    assert one.state is state
    (group,) = rank_groups(trials, 1.8, ("workers",), 3)
    assert group.winner is None
    assert group.best_minimum_loss == 1.0


def test_the_highest_minimum_counts_and_the_rest_are_means() -> None:
    (one,) = competitors(
        [trial(0.1, 0, 1.0, 1.2, seconds=2.0, images=64), trial(0.1, 1, 2.0, 1.5, seconds=3.0, images=64)], 2
    )
    assert (one.area, one.minimum_loss, one.seconds, one.images) == (1.5, 1.5, 2.5, 64)
    (one,) = competitors([trial(0.1, 0, 1.0, math.nan), trial(0.1, 1, 2.0, 1.5)], 2)
    assert math.isnan(one.minimum_loss or 0.0)


def test_a_pruned_setting_is_a_rival_unless_a_seed_of_it_has_failed_to_qualify() -> None:
    best = [trial(0.1, 0, 2.0), trial(0.1, 1, 2.0)]

    def rivals(*others: Candidate) -> list[str]:
        (group,) = rank_groups([*best, *others], 1.8, ("workers",), 2)
        return [rival.trial for rival in group.rivals]

    waiting = trial(0.2, 1, None, None, state=TrialState.PRUNED)
    assert rivals(trial(0.2, 0, 3.9), waiting) == ["0.2-0"]
    assert rivals(trial(0.2, 0, 4.1), waiting) == []
    assert rivals(trial(0.2, 0, 1.0, 1.9), waiting) == []
    assert rivals(trial(0.2, 0, None, None, state=TrialState.DIVERGED), waiting) == []


def test_in_a_race_a_setting_counts_with_the_seeds_that_came_to_something() -> None:
    trials = [trial(0.1, 0, 2.0), trial(0.1, 1, 4.0)]
    more = [
        trial(0.1, 2 + n, None, None, state=state)
        for n, state in enumerate((TrialState.PENDING, TrialState.RUNNING, TrialState.FAILED, TrialState.CANCELLED))
    ]
    (group,) = rank_groups([*trials, *more], None, ("workers",), Race())
    assert group.winner
    assert (group.winner.area, len(group.winner.trials)) == (3.0, 2)
    (group,) = rank_groups([*trials, trial(0.1, 9, state=TrialState.DIVERGED)], None, ("workers",), Race())
    assert group.winner is None
    assert [one.state for one in competitors(more[:1], Race())] == [TrialState.PENDING]


def test_the_spec_says_whether_seeds_are_repeats() -> None:
    written = {"name": "x", "space": {"batch_size": [8]}}
    for repeats, seeds, given in ((1, 1, False), (3, 3, True), ("auto", 2, True), ({"at_least": 4}, 4, True), REGRET):
        spec = parse_spec({**written, "repeats": repeats})
        stored = StoredSpec(spec.model_dump(mode="json")).repeats
        assert stored == spec.repeats
        assert gives_seeds(stored) == given
        assert len(plan(spec, first_points)) == seeds
        assert all(("seed" in one.parameters) == given for one in plan(spec, first_points))
    assert StoredSpec(None).repeats == 1
    assert StoredSpec({}).repeats == 1


def test_seeds_of_trials_are_repeats_unless_they_are_swept_or_imported() -> None:
    space: dict[str, Any] = {"batch_size": [8], "workers": [1]}
    for written, several in (
        ({"space": space}, 2),
        ({"space": space, "repeats": 3}, 3),
        ({"space": {**space, "seed": [1, 2]}}, 1),
        ({"space": {"points": [{"seed": 1, "workers": 1}]}}, 1),
    ):
        stored = StoredSpec(parse_spec({"name": "x", **written}).model_dump(mode="json"))
        assert repeats_of(stored, [{"workers": 1}, {"workers": 1, "seed": 4}]) == several
        assert repeats_of(stored, [{"workers": 1}]) == stored.repeats
    assert repeats_of(StoredSpec(None), [{"seed": 4}]) == 1


def test_a_further_seed_is_what_a_plan_of_more_repeats_has() -> None:
    for trial_ in ({"batch_size": 8, "seed": 5}, {"command": ["a", "{batch_size}", "{seed}"], "values": {"seed": 5}}):
        written = {"name": "x", "trial": trial_, "space": {"workers": [1, 2], "batch_size": [8, 16]}}
        few, many = (plan(parse_spec({**written, "repeats": repeats}), first_points) for repeats in (2, 3))
        assert [(t.key, t.parameters) for t in (with_seed(one, 7) for one in few[::2])] == [
            (t.key, t.parameters) for t in many[2::3]
        ]


@pytest.mark.parametrize(
    ("repeats", "line"),
    [
        ("many", "repeats: 'many': is no number of repeats; give a whole number of at least 1, or auto"),
        ({"at_leest": 2}, "repeats.at_leest: unknown key; did you mean at_least?"),
        ({"at_least": 0}, "repeats.at_least: 0 must be at least 1; give a larger number"),
        ({"regret": "little"}, "repeats.regret: 'little': is no share; give one, for example 1% or 0.01"),
        ({"regret": "0%"}, f"repeats.regret: '0%': {NO_SHARE}"),
        ({"regret": 1}, f"repeats.regret: 1: {NO_SHARE}"),
        ({"regret": True}, "repeats.regret: True: is no share; give one, for example 1% or 0.01"),
        ({"regret": "nan"}, f"repeats.regret: 'nan': {NO_SHARE}"),
        ({"regret": [1]}, "repeats.regret: is no share; give one, for example 1% or 0.01"),
        ({"level": 1}, "repeats.level: 1 must be less than 1; give a smaller number"),
        ({"at_least": 5, "at_most": 3}, "repeats: at_least 5 is above at_most 3: exchange them"),
        (
            {"at_least": 3, "trials": 5},
            "repeats.trials: 5 is less than the 6 that all settings take with 3 seeds; raise it",
        ),
    ],
)
def test_what_cannot_be_repeated_is_refused(repeats: Any, line: str) -> None:
    assert faults(repeats) == [line]


def test_a_race_gives_the_seeds_and_has_room_for_all_of_them() -> None:
    assert faults("auto", space={"seed": [1, 2]}) == [
        "repeats: auto gives the seeds already; remove space.seed or repeats"
    ]
    assert faults("auto", trial={"seed": 2**63 - 5})[0].startswith("trial.seed: ")
    with pytest.raises(ValidationError):
        Race(at_most=1)


@pytest.mark.parametrize("written", ["1%", " 1 % ", 0.01, "0.01"])
def test_a_regret_is_a_share_as_people_write_it(written: Any) -> None:
    race = parse_spec({"name": "x", "space": {"batch_size": [8, 16]}, "repeats": {"regret": written}}).repeats
    assert isinstance(race, Race)
    assert race.regret == pytest.approx(0.01)
    assert (race.at_least, race.at_most) == (1, 10)
    assert Race(regret=0.02, at_least=3).at_least == 3


def test_a_race_that_an_earlier_version_stored_is_read_as_it_was() -> None:
    stored = StoredSpec({"repeats": {"method": "auto", "at_least": 2, "at_most": 6, "level": 0.9, "trials": None}})
    assert stored.repeats == Race(at_least=2, at_most=6, level=0.9)
