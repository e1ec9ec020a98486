"""The contract of what pages ask a store for, over each kind of database."""

from __future__ import annotations

import math

from sweeper.plan.trial import TrialState
from sweeper.ranking import best_per_group
from sweeper.ranking.curve import summarize
from sweeper.store import Store, SweepRecord, TrialPhases, TrialRecord
from tests.dashboards.sweeps import Result, curve, diverging, run, submit

SPACE = {"batch_size": [16, 32], "learning_rate": [0.1, 0.5], "workers": [1, 2, 4]}


def result(trial: TrialRecord) -> Result:
    """Four workers: nothing qualifies; two: the smallest area is there twice; one: one has diverged."""
    if trial.workers == 4:
        return curve(1.0, 2.5)
    if trial.workers == 1 and trial.parameters["learning_rate"] == 0.5:
        return diverging()
    return curve(8.0 / trial.workers if trial.parameters["batch_size"] == 16 else 9.0, 1.0)


def swept(store: Store) -> SweepRecord:
    return run(store, SPACE, result)


class TestViews:
    """What `Store.views` promises."""

    def test_leaders_are_the_winners_of_the_ranking(self, store: Store) -> None:
        sweep = swept(store)
        for threshold in (None, 0.5, 1.0, 1.8, 3.0):
            all_of_them = best_per_group(store.trials.candidates(sweep.id, "seconds"), threshold)
            leaders = best_per_group(store.views.leaders(sweep.id, "seconds", threshold), threshold)
            expected = {group.key["workers"]: group.winner for group in all_of_them if group.winner}
            assert {group.key["workers"]: group.winner for group in leaders} == expected

    def test_a_version_changes_with_what_happens(self, store: Store) -> None:
        sweep = store.sweeps.find(submit(store, {"learning_rate": [0.1, 0.2]}))
        seen = [store.views.version(sweep.id)]
        first, second = store.trials.of(sweep.id)
        attempt = store.attempts.claim(first.id)
        assert attempt is not None
        seen.append(store.views.version(sweep.id))
        store.attempts.finish(first.id, attempt, TrialState.FAILED, summarize([]))
        seen.append(store.views.version(sweep.id))
        store.sweeps.try_failed_again(sweep.id)
        again = store.attempts.claim(first.id)
        assert again is not None
        store.attempts.finish(first.id, again, TrialState.FAILED, summarize([]))
        seen.append(store.views.version(sweep.id))
        store.attempts.give_up(second.id, "why")
        seen.append(store.views.version(sweep.id))
        assert len(set(seen)) == len(seen)
        assert store.views.version(sweep.id) == seen[-1]

    def test_the_range_of_losses_is_of_complete_finite_curves(self, store: Store) -> None:
        low, high = store.views.loss_range(swept(store).id) or (math.nan, math.nan)
        assert (low, high) == (1.0, 2.5)
        assert store.views.loss_range(submit(store, {"learning_rate": [0.1]})) is None

    def test_pages_of_trials_are_sorted_with_what_has_no_value_last(self, store: Store) -> None:
        sweep = swept(store)
        found = store.views.trials(sweep.id, order="area", most=7)
        assert found.total == 12
        areas = [trial.area_seconds for trial in found.trials if trial.area_seconds is not None]
        assert areas == sorted(areas)
        rest = store.views.trials(sweep.id, order="area", descending=True, first=7)
        assert rest.trials[-1].area_seconds is None
        assert store.views.trials(sweep.id, state=TrialState.DIVERGED).total == 2
        chosen = [trial.id for trial in store.trials.of(sweep.id)][3:5]
        assert [trial.id for trial in store.views.trials(sweep.id, ids=chosen).trials] == chosen
        assert store.views.trials(sweep.id, ids=[]).trials == ()

    def test_by_area_those_that_ended_early_and_those_that_shared_cores_come_after_the_others(
        self, store: Store
    ) -> None:
        sweep = submit(store, {"learning_rate": [0.1, 0.2, 0.3, 0.4]})
        trials = [trial.id for trial in store.trials.of(sweep)]
        ends = [
            (TrialState.PRUNED, 1.0, False),
            (TrialState.COMPLETED, 4.0, False),
            (TrialState.COMPLETED, 2.0, True),
            (TrialState.COMPLETED, 3.0, False),
        ]
        for trial, (state, area, shared) in zip(trials, ends, strict=True):
            attempt = store.attempts.claim(trial)
            assert attempt is not None
            store.attempts.finish(trial, attempt, state, summarize(curve(area, 1.0)), oversubscribed=shared)

        def in_order(*, descending: bool) -> list[int]:
            found = store.views.trials(sweep, order="area", descending=descending).trials
            return [trials.index(trial.id) for trial in found]

        assert in_order(descending=False) == [3, 1, 2, 0]
        assert in_order(descending=True) == [1, 3, 2, 0]

    def test_phases_are_those_of_the_latest_attempts(self, store: Store) -> None:
        sweep = submit(store, {"learning_rate": [0.1, 0.2]})
        trial, silent = store.trials.of(sweep)
        for seconds in (1.0, 2.0):
            attempt = store.attempts.claim(trial.id)
            assert attempt is not None
            store.attempts.finish(trial.id, attempt, TrialState.FAILED, summarize([]), phases={"compute": seconds})
            if seconds == 1.0:
                store.sweeps.try_failed_again(sweep)
        assert store.views.phases([trial.id, silent.id]) == {trial.id: TrialPhases(trial.steps, {"compute": 2.0})}
        assert store.views.phases([]) == {}
