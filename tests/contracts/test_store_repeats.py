"""Trials that are repeated and keep their results meanwhile, over each kind of database."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from sweeper.errors import LostTrialError
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import summarize
from sweeper.spec import parse_spec
from sweeper.store import EvaluationRecord, GangRecord, Settled, Store, TrialRecord
from tests.dashboards.sweeps import curve, submit

FIRST, SECOND = curve(4.0, 1.5), curve(2.0, 1.2)


def shared(store: Store, state: TrialState = TrialState.COMPLETED) -> tuple[str, str]:
    """A sweep with a trial that shared cores, and one that waits; the ids of sweep and trial."""
    sweep = submit(store, {"learning_rate": [0.1, 0.2]})
    trial = store.trials.of(sweep)[0].id
    assert store.attempts.claim(trial) == 1
    store.attempts.add_points(trial, 1, FIRST)
    store.attempts.add_evaluation(trial, 1, EvaluationRecord(5, 320, 2.0, 1.6, 0.5))
    summary, phases = summarize(FIRST), {"compute": 1.0}
    store.attempts.finish(trial, 1, state, summary, reason="first", phases=phases, oversubscribed=True)
    return sweep, trial


def repeated(store: Store) -> tuple[str, str, TrialRecord]:
    """The same, waiting to be repeated; also the trial as it was before."""
    sweep, trial = shared(store)
    before = store.trials.find(trial)
    assert store.sweeps.repeat(sweep, [trial]) == [trial]
    return sweep, trial, before


def candidate_of(store: Store, sweep: str, **options: Any) -> Any:
    return store.trials.candidates(sweep, "images", **options)[0]


def keeps_its_result(store: Store, sweep: str, trial: str) -> bool:
    """Whether all answers still have the result of the first attempt."""
    candidate = candidate_of(store, sweep)
    found = (candidate.state, candidate.area, candidate.oversubscribed)
    assert found == (TrialState.COMPLETED, summarize(FIRST).area_images, True)
    assert store.trials.candidates(sweep, "seconds")[0].area is None
    assert store.attempts.points(trial) == FIRST
    assert store.attempts.curves([trial])[-1][1] == 1
    assert store.attempts.last_evaluations(sweep)[trial].accuracy == 0.5
    assert store.views.phases([trial])[trial].seconds == {"compute": 1.0}
    assert store.views.loss_range(sweep) == (1.5, 1.5)
    assert [one.trial for one in store.views.leaders(sweep, "images", 1.8)] == [trial]
    return True


class TestRepeats:
    """What the store promises of trials that are repeated."""

    def test_a_trial_that_waits_or_runs_again_keeps_its_result(self, store: Store) -> None:
        sweep, trial, before = repeated(store)
        waiting = store.trials.find(trial)
        assert (waiting.state, waiting.area_seconds) == (TrialState.PENDING, before.area_seconds)
        assert store.attempts.keeps_result(trial)
        assert keeps_its_result(store, sweep, trial)
        assert candidate_of(store, sweep, kept=False).state is TrialState.PENDING, "for guides it is to be run"
        assert store.attempts.claim(trial) == 2
        store.attempts.add_points(trial, 2, SECOND[:2])
        assert store.attempts.points(trial, 2) == SECOND[:2]
        assert keeps_its_result(store, sweep, trial)

    def test_a_new_result_takes_the_place_of_the_old_one_whose_attempt_stays(self, store: Store) -> None:
        sweep, trial, _ = repeated(store)
        store.attempts.claim(trial)
        store.attempts.add_points(trial, 2, SECOND)
        store.attempts.finish(trial, 2, TrialState.COMPLETED, summarize(SECOND))
        found = store.trials.find(trial)
        assert (found.state, found.attempt, found.oversubscribed, found.reason) == ("completed", 2, False, "")
        assert found.area_seconds == summarize(SECOND).area_seconds
        assert candidate_of(store, sweep).area == summarize(SECOND).area_images
        assert store.attempts.points(trial) == SECOND
        assert store.attempts.points(trial, 1) == FIRST
        assert [one.state for one in store.attempts.of(trial)] == ["completed", "completed"]
        assert not store.attempts.keeps_result(trial)
        assert store.sweeps.repeat(sweep, [trial]) == []

    @pytest.mark.parametrize("state", [TrialState.COMPLETED, TrialState.PRUNED])
    @pytest.mark.parametrize("end", ["failed", "cancelled", "interrupted", "left behind"])
    def test_an_attempt_without_a_result_brings_back_the_old_one(
        self, store: Store, state: TrialState, end: str
    ) -> None:
        sweep, trial = shared(store, state)
        before = store.trials.find(trial)
        store.sweeps.repeat(sweep, [trial])
        assert store.attempts.claim(trial) == 2
        if end == "left behind":
            assert store.leases.release_left_behind(sweep, lambda _: True) == [trial]
        elif end == "interrupted":
            store.attempts.release(trial, 2, "interrupted")
        else:
            store.attempts.finish(trial, 2, TrialState(end), summarize(SECOND[:2]), reason="no luck", traceback="at 1")
        assert store.trials.find(trial) == before
        assert store.attempts.of(trial)[0].state == state
        assert store.attempts.of(trial)[1].state == (end if end != "left behind" else "interrupted")
        with pytest.raises(LostTrialError):
            store.attempts.finish(trial, 2, TrialState.COMPLETED, summarize(SECOND))
        assert store.sweeps.repeat(sweep, [trial]) == [trial]
        assert store.attempts.claim(trial) == 3, "numbers are not used twice"

    def test_a_pruned_attempt_takes_no_complete_result_away(self, store: Store) -> None:
        sweep, trial, before = repeated(store)
        store.attempts.claim(trial)
        store.attempts.add_points(trial, 2, SECOND[:2])
        settled = store.attempts.finish(trial, 2, TrialState.PRUNED, summarize(SECOND[:2]), phases={"compute": 9.0})
        assert settled is Settled.RESTORED
        assert store.trials.find(trial) == before
        assert keeps_its_result(store, sweep, trial)
        assert [one.state for one in store.attempts.of(trial)] == ["completed", "pruned"]
        assert store.attempts.points(trial, 2) == SECOND[:2]
        with pytest.raises(LostTrialError):
            store.attempts.finish(trial, 2, TrialState.PRUNED, summarize(SECOND[:2]))

        assert store.sweeps.repeat(sweep, [trial]) == [trial]
        assert keeps_its_result(store, sweep, trial), "that of the complete attempt, not of the later pruned one"
        assert store.attempts.claim(trial) == 3
        assert keeps_its_result(store, sweep, trial)
        store.attempts.release(trial, 3, "interrupted")
        assert store.trials.find(trial) == before

    @pytest.mark.parametrize(
        ("kept", "end"),
        [(TrialState.PRUNED, TrialState.PRUNED), (TrialState.COMPLETED, TrialState.DIVERGED)],
        ids=["pruned by pruned", "complete by diverged"],
    )
    def test_results_that_others_replace(self, store: Store, kept: TrialState, end: TrialState) -> None:
        sweep, trial = shared(store, kept)
        store.sweeps.repeat(sweep, [trial])
        store.attempts.claim(trial)
        store.attempts.add_points(trial, 2, SECOND[:2])
        settled = store.attempts.finish(trial, 2, end, summarize(SECOND[:2]), reason="second")
        assert settled is Settled.ENDED
        found = store.trials.find(trial)
        assert (found.state, found.attempt, found.reason, found.oversubscribed) == (end, 2, "second", False)
        assert found.area_seconds == summarize(SECOND[:2]).area_seconds
        assert store.attempts.points(trial) == SECOND[:2]
        assert store.attempts.points(trial, 1) == FIRST

    def test_the_record_of_a_trial_that_is_repeated_tells_of_its_result(self, store: Store) -> None:
        sweep, trial = shared(store, TrialState.PRUNED)
        store.sweeps.repeat(sweep, [trial])
        store.attempts.claim(trial)
        found, waiting = store.trials.of(sweep)
        assert (found.state, found.result_state, found.attempt, found.result_attempt) == ("running", "pruned", 2, 1)
        assert (waiting.result_state, waiting.result_attempt) == (TrialState.PENDING, 0)
        assert found.area_is_bound
        assert not waiting.area_is_bound
        assert [found.steps_of(one) for one in store.attempts.of(trial)] == [found.steps, None]
        assert store.trials.find(trial) == found
        assert store.views.trials(sweep).trials == (found, waiting)
        other = store.trials.of(sweep)[1].id
        store.attempts.finish(other, store.attempts.claim(other) or 0, TrialState.COMPLETED, summarize(curve(9.0, 1.5)))
        assert [one.id for one in store.views.trials(sweep, order="area").trials] == [other, trial]

    def test_a_trial_that_is_repeated_and_never_learnt_stays_at_chance(self, store: Store) -> None:
        learnable = {"name": "n", "trial": {"model": "mlp", "data": "digits"}, "space": {"learning_rate": [0.1]}}
        spec = parse_spec(learnable)
        sweep = store.sweeps.add(spec, plan(spec))
        trial = store.trials.of(sweep)[0].id
        flat = curve(4.0, 2.29)
        store.attempts.finish(
            trial, store.attempts.claim(trial) or 0, TrialState.COMPLETED, summarize(flat), oversubscribed=True
        )
        store.sweeps.repeat(sweep, [trial])
        (found,) = store.trials.of(sweep)
        assert found.state is TrialState.PENDING
        assert found.at_chance
        assert candidate_of(store, sweep).at_chance
        assert found.candidate("images") == candidate_of(store, sweep, kept=False)

    def test_a_failed_attempt_that_is_tried_again_leaves_the_trial_waiting(self, store: Store) -> None:
        sweep, trial, _ = repeated(store)
        store.attempts.claim(trial)
        store.attempts.release(trial, 2, "a rank died", "failed")
        assert store.trials.find(trial).state is TrialState.PENDING
        assert keeps_its_result(store, sweep, trial)

    def test_a_stop_brings_back_what_waits_to_be_repeated_and_cancels_the_rest(self, store: Store) -> None:
        sweep, trial, before = repeated(store)
        assert store.sweeps.ask_to_stop(sweep) == 1
        assert store.trials.find(trial) == before
        assert store.trials.of(sweep)[1].state is TrialState.CANCELLED

    def test_results_can_be_kept_after_all(self, store: Store) -> None:
        sweep, trial, before = repeated(store)
        assert store.sweeps.keep_results(sweep, [store.trials.of(sweep)[1].id]) == 0
        assert store.trials.find(trial).state is TrialState.PENDING, "results are kept of those that are named"
        assert store.sweeps.keep_results(sweep, [trial]) == 1
        assert store.trials.find(trial) == before
        assert store.trials.of(sweep)[1].state is TrialState.PENDING

    def test_a_trial_that_is_given_up_returns_to_its_result(self, store: Store) -> None:
        _, trial, before = repeated(store)
        assert store.attempts.give_up(trial, "it cannot win any more") is Settled.RESTORED
        assert store.trials.find(trial) == before

    def test_only_trials_with_a_result_that_shared_cores_are_repeated(self, store: Store) -> None:
        sweep = submit(store, {"learning_rate": [0.1, 0.2, 0.3, 0.4]})
        trials = [trial.id for trial in store.trials.of(sweep)]
        ends = [(TrialState.COMPLETED, False), (TrialState.FAILED, True), (TrialState.DIVERGED, True)]
        for trial, (state, marked) in zip(trials, ends, strict=False):
            store.attempts.claim(trial)
            store.attempts.finish(trial, 1, state, summarize(FIRST), oversubscribed=marked)
        before = store.trials.of(sweep)
        assert store.sweeps.repeat(sweep, trials) == []
        assert store.trials.of(sweep) == before

    def test_the_mark_of_a_gang_that_shares_waits_for_the_result(self, store: Store) -> None:
        sweep, trial, before = repeated(store)
        store.attempts.claim(trial)
        gang = GangRecord("g", sweep, 1, ["a"], [1], {}, datetime.now(UTC))
        store.attempts.assign_gang(trial, 2, gang, "a.log", oversubscribed=False)
        assert store.trials.find(trial).oversubscribed
        store.attempts.finish(trial, 2, TrialState.COMPLETED, summarize(SECOND), oversubscribed=True)
        assert store.trials.find(trial).oversubscribed
        assert before.oversubscribed
