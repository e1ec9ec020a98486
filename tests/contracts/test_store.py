"""The contract of a store, over each kind of database."""

from __future__ import annotations

import math
import re
import struct
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sweeper.errors import NotFoundError, StoreError
from sweeper.plan import plan, with_seed
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import SweepSpec, parse_spec
from sweeper.store import EvaluationRecord, GangRecord, Settled, Store, leases, open_store, tables
from sweeper.store.connection import connect
from sweeper.store.tables import metadata
from tests.contracts.together import PROCESSES, Together, claim_all, open_and_add

EXTREMES = [
    math.nan,
    math.inf,
    -math.inf,
    0.1,
    -0.3,
    1 / 3,
    5e-324,
    sys.float_info.min,
    sys.float_info.max,
    -sys.float_info.max,
    1 + sys.float_info.epsilon,
]


def mine(name: str = "mine", **fields: Any) -> SweepSpec:
    return parse_spec({"name": name, "space": {"batch_size": [32, 16], "learning_rate": [0.3, 0.1]}, **fields})


def added(store: Store, spec: SweepSpec | None = None) -> tuple[str, list[str]]:
    """A new sweep's id and those of its trials."""
    spec = spec or mine()
    sweep_id = store.sweeps.add(spec, plan(spec))
    return sweep_id, [trial.id for trial in store.trials.of(sweep_id)]


def curve(*losses: float) -> list[LossPoint]:
    return [LossPoint(2 * i, 64 * i, 0.1 * i, loss) for i, loss in enumerate(losses, start=1)]


def bits(number: float) -> bytes:
    return b"nan" if math.isnan(number) else struct.pack("<d", number)


def gang(sweep_id: str, gang_id: str = "g1", **changes: Any) -> GangRecord:
    started = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    record = GangRecord(gang_id, sweep_id, 2, ["höst", "b"], [10, 2**31], {"mpi": "MPICH 5", "python": "3.11"}, started)
    return replace(record, **changes)


class TestStore:
    """Every kind of database passes the same."""

    def test_a_new_store_is_empty(self, store: Store) -> None:
        assert store.sweeps.all() == []
        assert store.trials.of("none") == []
        assert store.attempts.points("none") == []
        assert store.attempts.of("none") == []
        assert store.attempts.gangs("none") == []
        assert store.attempts.phases("none", 1) == {}

    def test_a_sweep_keeps_its_spec_and_objective(self, store: Store) -> None:
        before = datetime.now(UTC)
        spec = mine(
            "Größe 寸法", objective={"threshold": 0.1 + 0.2, "over": "images", "group_by": ["batch_size", "workers"]}
        )
        sweep_id, _ = added(store, spec)
        (record,) = store.sweeps.all()
        assert (record.id, record.name, record.origin) == (sweep_id, "Größe 寸法", "run")
        assert record.spec.written is not None
        assert parse_spec(record.spec.written) == spec
        assert list(record.spec.written["space"]) == ["batch_size", "learning_rate"], "the order of the plan"
        assert (record.threshold, record.over, record.group_by) == (0.1 + 0.2, "images", ("batch_size", "workers"))
        assert before <= record.created_at <= datetime.now(UTC)
        assert record.created_at.utcoffset() == timedelta(0)
        assert (record.states, record.trials, record.ended) == ({TrialState.PENDING: 4}, 4, 0)

    def test_a_sweep_without_threshold_has_none(self, store: Store) -> None:
        added(store)
        assert store.sweeps.all()[0].threshold is None

    def test_trials_come_in_the_order_of_the_plan_all_pending(self, store: Store) -> None:
        spec = mine(repeats=2)
        sweep_id, _ = added(store, spec)
        trials = store.trials.of(sweep_id)
        assert [trial.id for trial in trials] == [f"{sweep_id}-{trial.key}" for trial in plan(spec)]
        for position, (record, trial) in enumerate(zip(trials, plan(spec), strict=True)):
            assert (record.sweep_id, record.position, record.workers) == (sweep_id, position, trial.workers)
            assert record.parameters == trial.parameters
            assert list(record.parameters) == list(trial.parameters)
            assert record.config == trial.config.model_dump(mode="json")
            assert record.resources == trial.resources.model_dump(mode="json")
            assert (record.state, record.reason, record.attempt) == (TrialState.PENDING, "", 0)
            assert (record.points, record.finite) == (0, True)
            assert {record.minimum_loss, record.final_loss, record.seconds, record.images, record.steps} == {None}
            assert {record.area(over) for over in ("seconds", "images", "steps")} == {None}

    def test_trials_can_be_asked_for_by_state(self, store: Store) -> None:
        sweep_id, trials = added(store)
        store.attempts.claim(trials[2])
        store.attempts.finish(trials[0], 0, TrialState.CANCELLED, summarize([]))
        found = [t.id for t in store.trials.of(sweep_id, [TrialState.PENDING])]
        assert found == [trials[1], trials[3]]
        both = [t.id for t in store.trials.of(sweep_id, [TrialState.RUNNING, TrialState.CANCELLED])]
        assert both == [trials[0], trials[2]]

    @pytest.mark.parametrize("over", ["seconds", "images", "steps"])
    def test_what_is_ranked_is_what_the_trials_have(self, store: Store, over: str) -> None:
        sweep_id, trials = added(store, mine(repeats=2))
        for trial, losses in zip(trials, [(3.0, 1 / 3), (math.inf, 1.0), (math.nan, 1.0), (1.0,), ()], strict=False):
            store.attempts.claim(trial)
            points = curve(*losses)
            store.attempts.finish(trial, 1, TrialState.COMPLETED, summarize(points))
        assert store.trials.candidates(sweep_id, over) == [trial.candidate(over) for trial in store.trials.of(sweep_id)]
        assert store.trials.candidates("none", over) == []

    def test_whether_trials_have_seeds_is_known_without_reading_them(self, store: Store) -> None:
        without, _ = added(store, mine("without"))
        assert not store.trials.have_seeds(without)
        more = next(iter(store.trials.of(without))).planned
        assert store.sweeps.extend(without, [with_seed(more, 3)]) == 1
        assert store.trials.have_seeds(without)
        assert store.trials.have_seeds(added(store, mine("repeated", repeats=2))[0])

    def test_trials_that_never_learnt_are_known_by_their_data_and_model(self, store: Store) -> None:
        limit = 0.95 * math.log(10)
        below = math.nextafter(limit, 0)
        learnable = {"model": ["mlp"], "data": ["digits", "cifar10"], "batch_size": [8, 16]}
        sweep_id, trials = added(store, mine(space=learnable))
        for trial, losses in zip(trials, [(3.0, limit), (3.0, below), (limit, 3.0), (3.0, 2.9)], strict=True):
            store.attempts.claim(trial)
            store.attempts.finish(trial, 1, TrialState.COMPLETED, summarize(curve(*losses)))
        records = store.trials.of(sweep_id)
        assert [record.at_chance for record in records] == [True, False, True, True]
        candidates = store.trials.candidates(sweep_id, "seconds")
        assert candidates == [record.candidate("seconds") for record in records]
        assert [type(candidate.at_chance) for candidate in candidates] == [bool] * 4

        unknown = {"learning_rate": [0.1]}
        for trial_of in ({"command": ["true", "{learning_rate}"]}, {"model": "neuron", "data": "step-function"}):
            sweep_id, (trial,) = added(store, parse_spec({"name": "n", "trial": trial_of, "space": unknown}))
            store.attempts.claim(trial)
            store.attempts.finish(trial, 1, TrialState.COMPLETED, summarize(curve(9.0, 8.0)))
            (candidate,) = store.trials.candidates(sweep_id, "seconds")
            assert not candidate.at_chance

    def test_sweeps_of_one_store_do_not_mix(self, store: Store) -> None:
        first, _ = added(store)
        second, trials = added(store)
        store.attempts.claim(trials[0])
        assert [record.id for record in store.sweeps.all()] == [second, first], "newest first"
        assert {t.sweep_id for t in store.trials.of(first)} == {first}
        assert store.sweeps.find(first).states == {TrialState.PENDING: 4}
        assert store.sweeps.find(second).states == {TrialState.PENDING: 3, TrialState.RUNNING: 1}

    # Finding a sweep

    def test_a_sweep_is_found_by_id_by_name_or_by_the_beginning_of_its_id(self, store: Store) -> None:
        one, _ = added(store, mine("one"))
        other, _ = added(store, mine("other"))
        assert store.sweeps.find(one).id == one
        assert store.sweeps.find("one").id == one
        assert store.sweeps.find(one[:5]).id == one
        assert store.sweeps.find("latest").id == other

    def test_a_name_means_its_newest_sweep(self, store: Store) -> None:
        added(store)
        newest, _ = added(store)
        assert store.sweeps.find("mine").id == newest

    def test_an_id_goes_before_a_name_and_a_name_before_a_beginning(self, store: Store) -> None:
        first, _ = added(store)
        named_like_it, _ = added(store, mine(first))
        assert store.sweeps.find(first).id == first
        named_like_its_beginning, _ = added(store, mine(first[:4]))
        assert store.sweeps.find(first[:4]).id == named_like_its_beginning
        assert named_like_it != first

    @pytest.mark.parametrize("reference", ["", "no", "nothing", "latest"])
    def test_a_sweep_that_is_not_there_is_said_so(self, store: Store, reference: str) -> None:
        with pytest.raises(NotFoundError, match=f"sweep '{reference}': no such sweep in .*`sweeper list` shows"):
            store.sweeps.find(reference)

    def test_any_beginning_that_fits_one_sweep_will_do_and_nothing_is_none(self, store: Store) -> None:
        sweep_id, _ = added(store)
        assert store.sweeps.find(sweep_id[0]).id == sweep_id
        with pytest.raises(NotFoundError):
            store.sweeps.find("")

    def test_a_beginning_that_fits_several_is_refused(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        ids = iter(["abcd0001", "abcd0002"])
        monkeypatch.setattr("secrets.token_hex", lambda _: next(ids))
        added(store)
        added(store)
        with pytest.raises(NotFoundError, match="fits several sweeps"):
            store.sweeps.find("abcd")
        assert store.sweeps.find("abcd0001").id == "abcd0001"

    # States

    def test_claiming_starts_an_attempt(self, store: Store) -> None:
        sweep_id, (first, *_) = added(store)
        assert store.attempts.claim(first, lambda number: f"logs/{number}.log") == 1
        record = store.trials.of(sweep_id)[0]
        assert (record.state, record.attempt) == (TrialState.RUNNING, 1)
        (attempt,) = store.attempts.of(first)
        assert (attempt.trial_id, attempt.number, attempt.state, attempt.log) == (first, 1, "running", "logs/1.log")
        assert (attempt.gang_id, attempt.ended_at, attempt.effective, attempt.reason) == (None, None, {}, "")
        assert attempt.started_at.utcoffset() == timedelta(0)

    def test_a_trial_is_claimed_once(self, store: Store) -> None:
        _, (first, *_) = added(store)
        assert store.attempts.claim(first) == 1
        assert store.attempts.claim(first) is None
        assert store.attempts.claim("none") is None
        assert len(store.attempts.of(first)) == 1

    def test_of_many_threads_one_gets_the_trial(self, store: Store) -> None:
        _, trials = added(store)
        with ThreadPoolExecutor(8) as pool:
            for trial in trials:
                claims = list(pool.map(store.attempts.claim, [trial] * 16))
                assert sorted(claims, key=str) == [1] + [None] * 15

    def test_many_who_add_trials_at_once_do_not_exceed_the_most(self, store: Store) -> None:
        sweep_id, trials = added(store)
        more = plan(parse_spec({"name": "more", "space": {"batch_size": list(range(100, 140))}}))
        with ThreadPoolExecutor(8) as pool:
            new = list(pool.map(lambda trial: store.sweeps.extend(sweep_id, [trial], len(trials) + 5), more))
        assert sum(new) == 5
        found = store.trials.of(sweep_id)
        assert len(found) == len(trials) + 5
        assert [trial.position for trial in found] == list(range(len(found)))
        # Both or none. Of the first ones any may have been added; the last ones came when the sweep was full.
        assert store.sweeps.extend(sweep_id, more[-2:], len(found) + 1) == 0

    def test_a_search_goes_on_by_another_spec_and_the_sweep_keeps_the_rest(self, store: Store) -> None:
        sweep_id, trials = added(store)
        before = store.sweeps.find(sweep_id)
        when = {"values": [0.5, 0.9], "when": {"workers": 2}}
        wider = parse_spec(
            {"name": "other", "space": {"workers": [1, 2], "momentum": when}, "search": "tpe", "trials": 3}
        )
        store.sweeps.change_spec(sweep_id, wider)
        after = store.sweeps.find(sweep_id)
        assert after.spec.whole() == wider
        assert (after.name, after.threshold, after.over, after.group_by) == (
            *(before.name, before.threshold, before.over, before.group_by),
        )
        assert [trial.id for trial in store.trials.of(sweep_id)] == trials

    def test_a_field_that_a_trial_lacks_stays_absent(self, store: Store) -> None:
        when = {"values": [0.5], "when": {"workers": 2}}
        sweep_id, _ = added(store, parse_spec({"name": "n", "space": {"workers": [1, 2], "momentum": when}}))
        assert [trial.parameters["momentum"] for trial in store.trials.of(sweep_id)] == [None, 0.5]

    def test_of_many_processes_one_gets_each_trial(self, store: Store, url: str, together: Together) -> None:
        _, trials = added(store, mine(repeats=8))
        won = together(claim_all, url, trials)
        assert sorted(trial for share in won for trial in share) == sorted(trials)
        assert all(store.attempts.of(trial)[0].number == 1 for trial in trials)

    def test_an_ended_trial_keeps_what_came_of_it(self, store: Store) -> None:
        sweep_id, (first, *_) = added(store)
        store.attempts.claim(first)
        points = curve(2.0, 1.0, 1.5)
        store.attempts.add_points(first, 1, points)
        store.attempts.finish(
            first, 1, TrialState.COMPLETED, summarize(points), reason="done", phases={"compute": 0.25}
        )
        record = store.trials.of(sweep_id)[0]
        assert (record.state, record.reason) == (TrialState.COMPLETED, "done")
        assert asdict(record) | asdict(summarize(points)) == asdict(record)
        assert record.candidate("images").area == summarize(points).area_images
        assert record.candidate("seconds").complete
        (attempt,) = store.attempts.of(first)
        assert (attempt.state, attempt.reason, attempt.traceback) == ("completed", "done", "")
        assert attempt.ended_at is not None
        assert attempt.ended_at >= attempt.started_at
        assert store.attempts.phases(first, 1) == {"compute": 0.25}

    @pytest.mark.parametrize("state", [s for s in TrialState if s.ended])
    def test_an_ended_trial_is_never_rewritten(self, store: Store, state: TrialState) -> None:
        sweep_id, (first, *_) = added(store)
        store.attempts.claim(first)
        store.attempts.finish(first, 1, state, summarize(curve(1.0)), reason="first", phases={"compute": 1.0})
        before = store.trials.of(sweep_id), store.attempts.of(first), store.attempts.phases(first, 1)
        for other in (s for s in TrialState if s.ended):
            with pytest.raises(StoreError, match=f"trial {first} is not running in attempt 1; an ended trial stays"):
                store.attempts.finish(first, 1, other, summarize([]), reason="second", phases={"late": 1.0})
        assert store.attempts.claim(first) is None
        store.attempts.release(first, 1, "second")
        assert (store.trials.of(sweep_id), store.attempts.of(first), store.attempts.phases(first, 1)) == before

    def test_a_pending_trial_ends_only_by_cancelling(self, store: Store) -> None:
        sweep_id, (first, second, *_) = added(store)
        for state in (TrialState.COMPLETED, TrialState.FAILED, TrialState.DIVERGED, TrialState.PRUNED):
            with pytest.raises(StoreError, match="is not running"):
                store.attempts.finish(first, 0, state, summarize([]))
        store.attempts.finish(second, 0, TrialState.CANCELLED, summarize([]))
        assert [t.state for t in store.trials.of(sweep_id)[:2]] == [TrialState.PENDING, TrialState.CANCELLED]
        assert store.attempts.of(second) == []

    def test_a_trial_that_waits_may_be_given_up_and_keeps_its_attempts(self, store: Store) -> None:
        sweep_id, trials = added(store)
        store.attempts.claim(trials[1])
        store.attempts.release(trials[1], 1, "interrupted")
        store.attempts.claim(trials[2])
        settled = [store.attempts.give_up(trial, "others are better") for trial in trials[:3]]
        assert settled == [Settled.ENDED, Settled.ENDED, None]
        assert not store.attempts.give_up(trials[0], "once more")
        found = store.trials.of(sweep_id)
        pruned = (TrialState.PRUNED, "others are better")
        assert [(t.state, t.reason) for t in found[:2]] == [pruned, pruned]
        assert found[2].state is TrialState.RUNNING
        assert [t.attempt for t in found[:2]] == [0, 1]
        assert [attempt.state for attempt in store.attempts.of(trials[1])] == ["interrupted"]
        assert store.attempts.claim(trials[0]) is None

    def test_the_seconds_of_all_attempts_are_added_up(self, store: Store) -> None:
        sweep_id, trials = added(store)
        for _ in range(2):
            attempt = store.attempts.claim(trials[0]) or 0
            store.attempts.release(trials[0], attempt, "interrupted")
        store.attempts.claim(trials[1])
        took = [(a.ended_at or a.started_at) - a.started_at for a in store.attempts.of(trials[0])]
        found = store.attempts.seconds(sweep_id)
        assert found[trials[0]] == pytest.approx(sum(one.total_seconds() for one in took))
        assert found[trials[1]] >= 0
        assert found.keys() == set(trials[:2])

    def test_the_wait_for_seats_is_not_counted(self, store: Store) -> None:
        sweep_id, trials = added(store)
        waits, trains, ended, failed = trials
        since = datetime.now(UTC) - timedelta(hours=2)  # of a clock that nobody has to wait for
        hour = since + timedelta(hours=1)
        numbers = {trial: store.attempts.claim(trial) or 0 for trial in trials}
        for trial in (trains, ended):
            store.attempts.assign_gang(trial, numbers[trial], gang(sweep_id), "log", held_since=since)
        store.attempts.finish(ended, numbers[ended], TrialState.COMPLETED, summarize([]))
        store.attempts.finish(failed, numbers[failed], TrialState.FAILED, summarize([]), held_since=hour)
        found = store.attempts.seconds(sweep_id)
        assert found[waits] == 0.0
        assert {trial: round(seconds / 3600) for trial, seconds in found.items()} == {
            waits: 0,
            trains: 2,
            ended: 2,
            failed: 1,
        }

    def test_the_time_until_a_dead_scheduler_is_noticed_is_not_counted(self, store: Store) -> None:
        sweep_id, trials = added(store)
        scheduler = store.leases.begin("host", "process")
        since = datetime.now(UTC) - timedelta(hours=2)
        for trial in trials[:2]:
            number = store.attempts.claim(trial, scheduler_id=scheduler) or 0
            if trial == trials[0]:
                store.attempts.assign_gang(trial, number, gang(sweep_id), "log", held_since=since)
        hour = leases.LEASE + timedelta(hours=1)
        expired = tables.scheduler.update().values(lease_until=since + hour)
        store.transactions.write(lambda connection: connection.execute(expired))
        assert store.leases.release_left_behind(sweep_id, lambda _: False) == sorted(trials[:2])
        found = store.attempts.seconds(sweep_id)
        assert found == {trials[0]: pytest.approx(3600), trials[1]: 0.0}

    def test_a_failed_attempt_keeps_its_traceback(self, store: Store) -> None:
        sweep_id, (first, *_) = added(store)
        store.attempts.claim(first)
        traceback = 'Traceback:\n  File "x.py"\nValueError: \u20ac \x00 \udc80'
        store.attempts.finish(first, 1, TrialState.FAILED, summarize([]), reason="rank 1: \x00", traceback=traceback)
        (attempt,) = store.attempts.of(first)
        assert attempt.traceback == traceback.replace("\x00", "\ufffd").replace("\udc80", "\ufffd")
        assert attempt.reason == store.trials.of(sweep_id)[0].reason == "rank 1: \ufffd"

    def test_a_released_trial_waits_for_another_attempt_whose_points_are_its_own(self, store: Store) -> None:
        sweep_id, (first, *_) = added(store)
        store.attempts.claim(first)
        store.attempts.add_points(first, 1, curve(9.0, 8.0))
        store.attempts.release(first, 1, "the scheduler was killed")
        released = store.trials.of(sweep_id)[0]
        assert (released.state, released.reason, released.points) == (TrialState.PENDING, "the scheduler was killed", 0)
        assert store.attempts.claim(first) == 2
        assert store.attempts.points(first) == []
        store.attempts.add_points(first, 2, curve(2.0, 1.0))
        store.attempts.finish(first, 2, TrialState.COMPLETED, summarize(curve(2.0, 1.0)))
        assert store.attempts.points(first) == store.attempts.points(first, 2) == curve(2.0, 1.0)
        assert store.attempts.points(first, 1) == curve(9.0, 8.0)
        assert [(a.number, a.state) for a in store.attempts.of(first)] == [(1, "interrupted"), (2, "completed")]
        assert store.trials.of(sweep_id)[0].reason == ""

    def test_an_earlier_attempt_has_no_say_any_more(self, store: Store) -> None:
        sweep_id, (first, *_) = added(store)
        store.attempts.claim(first)
        store.attempts.release(first, 1, "lease ran out")
        store.attempts.claim(first)
        with pytest.raises(StoreError, match="is not running in attempt 1"):
            store.attempts.finish(first, 1, TrialState.COMPLETED, summarize(curve(1.0)))
        store.attempts.release(first, 1, "again")
        record = store.trials.of(sweep_id)[0]
        assert (record.state, record.attempt, record.points) == (TrialState.RUNNING, 2, 0)
        assert [a.reason for a in store.attempts.of(first)] == ["lease ran out", ""]

    def test_a_sweep_is_what_its_trials_are(self, store: Store) -> None:
        sweep_id, trials = added(store)
        scheduler = store.leases.begin("host", "process")
        states = [store.sweeps.find(sweep_id).state]
        for trial in trials:
            store.attempts.claim(trial, scheduler_id=scheduler)
            states.append(store.sweeps.find(sweep_id).state)
            store.attempts.finish(trial, 1, TrialState.DIVERGED, summarize([]))
            states.append(store.sweeps.find(sweep_id).state)
        assert states == ["waiting", *["running", "interrupted"] * 3, "running", "completed"]
        assert store.sweeps.find(sweep_id).ended == 4

    def test_a_sweep_runs_for_as_long_as_somebody_holds_its_trials(self, store: Store) -> None:
        sweep_id, trials = added(store)
        others, _ = added(store, mine("other"))
        gone, there = (store.leases.begin("host", name) for name in ("gone", "there"))
        store.attempts.claim(trials[0], scheduler_id=gone)
        store.attempts.claim(trials[1], scheduler_id=there)
        store.leases.end(gone)
        assert store.sweeps.find(sweep_id).state == "running"
        assert store.progress.held(sweep_id) == 1
        assert {sweep.id: sweep.state.value for sweep in store.sweeps.all()} == {others: "waiting", sweep_id: "running"}
        store.leases.end(there)
        assert store.sweeps.find(sweep_id).state == "interrupted"
        assert store.progress.held(sweep_id) == 0

    def test_a_sweep_with_cancelled_trials_was_stopped(self, store: Store) -> None:
        sweep_id, trials = added(store)
        scheduler = store.leases.begin("host", "process")
        store.attempts.claim(trials[0], scheduler_id=scheduler)
        store.sweeps.ask_to_stop(sweep_id)
        assert store.sweeps.find(sweep_id).state == "running"
        store.attempts.finish(trials[0], 1, TrialState.CANCELLED, summarize([]))
        assert store.sweeps.find(sweep_id).state == "stopped"
        assert store.sweeps.find(sweep_id).stop_asked

    # What attempts report

    def test_losses_of_every_kind_come_back_to_the_last_bit(self, store: Store) -> None:
        _, (first, *_) = added(store)
        store.attempts.claim(first)
        store.attempts.add_points(first, 1, curve(*EXTREMES))
        found = store.attempts.points(first)
        assert [bits(point.loss) for point in found] == list(map(bits, EXTREMES))
        assert [replace(p, loss=0.0) for p in found] == [replace(p, loss=0.0) for p in curve(*EXTREMES)]

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
    @given(st.lists(st.floats(), min_size=1, max_size=20), st.floats(0, allow_infinity=False))
    @example([math.nan], 1.0)
    @example([1.0, math.nan], 1.0)
    @example([math.inf, -math.inf], 1.0)
    def test_any_curve_and_its_summary_come_back(self, store: Store, losses: list[float], seconds: float) -> None:
        losses = [loss + 0.0 for loss in losses]  # -0.0 may lose its sign
        points = [LossPoint(i, None if i % 2 else 2**62 + i, seconds, loss) for i, loss in enumerate(losses)]
        sweep_id, (first, *_) = added(store)
        store.attempts.claim(first)
        store.attempts.add_points(first, 1, points)
        state = TrialState.COMPLETED if summarize(points).finite else TrialState.DIVERGED
        store.attempts.finish(first, 1, state, summarize(points))
        assert repr(store.attempts.points(first)) == repr(points)
        record = asdict(store.trials.of(sweep_id)[0])
        expected = asdict(summarize(points))
        assert repr({name: record[name] for name in expected}) == repr(expected)

    def test_points_come_in_the_order_of_their_steps(self, store: Store) -> None:
        _, (first, *_) = added(store)
        store.attempts.claim(first)
        points = curve(3.0, 2.0, 1.0)
        store.attempts.add_points(first, 1, points[2:])
        store.attempts.add_points(first, 1, [])
        store.attempts.add_points(first, 1, points[:2])
        assert store.attempts.points(first) == points

    def test_points_are_added_all_or_none(self, store: Store) -> None:
        _, (first, *_) = added(store)
        store.attempts.claim(first)
        store.attempts.add_points(first, 1, curve(1.0))
        with pytest.raises(StoreError, match=re.escape(f"store {store.name}: ")):
            store.attempts.add_points(first, 1, [LossPoint(4, 1, 1.0, 1.0), LossPoint(2, 1, 1.0, 1.0)])
        assert store.attempts.points(first) == curve(1.0)

    def test_points_of_an_attempt_that_is_not_there_are_refused(self, store: Store) -> None:
        _, (first, *_) = added(store)
        with pytest.raises(StoreError):
            store.attempts.add_points(first, 1, curve(1.0))

    def test_numbers_beyond_a_databases_integers_are_refused(self, store: Store) -> None:
        _, (first, *_) = added(store)
        store.attempts.claim(first)
        with pytest.raises(StoreError):
            store.attempts.add_points(first, 1, [LossPoint(1, 2**63, 1.0, 1.0)])
        assert store.attempts.points(first) == []

    def test_set_up_is_recorded_with_the_attempt(self, store: Store) -> None:
        _, (first, *_) = added(store)
        store.attempts.claim(first)
        effective = {"device": "cpu", "threads": 1, "nested": {"b": [0.1, None], "a": "é"}}
        store.attempts.start(first, 1, 1.25, 0.1, effective)
        (attempt,) = store.attempts.of(first)
        assert (attempt.startup_seconds, attempt.setup_seconds, attempt.effective) == (1.25, 0.1, effective)

    def test_a_gang_serves_several_attempts_and_is_recorded_once(self, store: Store) -> None:
        sweep_id, (first, second, third, _) = added(store)
        for trial in (first, second, third):
            store.attempts.claim(trial)
        serving = gang(sweep_id)
        later = gang(sweep_id, "g2", started_at=serving.started_at + timedelta(seconds=1))
        store.attempts.assign_gang(third, 1, later, "gang.log")
        store.attempts.assign_gang(first, 1, serving, "gang.log")
        store.attempts.assign_gang(second, 1, gang(sweep_id, hosts=["other"]), "gang.log")
        assert store.attempts.gangs(sweep_id) == [serving, later]
        assert [store.attempts.of(t)[0].gang_id for t in (first, second, third)] == ["g1", "g1", "g2"]

    def test_many_threads_may_name_one_gang_at_once(self, store: Store) -> None:
        sweep_id, trials = added(store, mine(repeats=4))
        for trial in trials:
            store.attempts.claim(trial)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda trial: store.attempts.assign_gang(trial, 1, gang(sweep_id), "gang.log"), trials))
        assert store.attempts.gangs(sweep_id) == [gang(sweep_id)]

    def test_times_are_kept_in_utc(self, store: Store) -> None:
        sweep_id, (first, *_) = added(store)
        store.attempts.claim(first)
        east = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone(timedelta(hours=5, minutes=30)))
        store.attempts.assign_gang(first, 1, gang(sweep_id, started_at=east), "gang.log")
        (found,) = store.attempts.gangs(sweep_id)
        assert found.started_at == east
        assert found.started_at.utcoffset() == timedelta(0)

    def test_phases_belong_to_their_attempt(self, store: Store) -> None:
        _, (first, *_) = added(store)
        store.attempts.claim(first)
        store.attempts.release(first, 1, "")
        store.attempts.claim(first)
        store.attempts.finish(first, 2, TrialState.COMPLETED, summarize([]), phases={"compute": 1 / 3, "gather": 0.0})
        assert store.attempts.phases(first, 2) == {"compute": 1 / 3, "gather": 0.0}
        assert store.attempts.phases(first, 1) == {}

    # Imports

    def test_imported_curves_are_a_sweep_of_ended_trials(self, store: Store) -> None:
        good, bad = curve(2.0, 1.0), curve(2.0, math.nan)
        sweep_id = store.sweeps.add_import(
            "logs",
            [
                ({"workers": 2, "learning_rate": 0.5}, "a.txt", good, summarize(good)),
                ({"workers": 1}, "b.txt", bad, summarize(bad)),
            ],
        )
        record = store.sweeps.find("logs")
        assert (record.id, record.origin, record.spec.written) == (sweep_id, "import", None)
        assert (record.over, record.group_by, record.threshold) == ("seconds", ("workers",), None)
        first, second = store.trials.of(sweep_id)
        assert (first.state, first.parameters, first.workers) == (
            TrialState.COMPLETED,
            {"workers": 2, "learning_rate": 0.5},
            2,
        )
        assert (first.reason, first.attempt, first.area_seconds) == (
            "imported from a.txt",
            1,
            summarize(good).area_seconds,
        )
        assert (second.state, second.finite, second.minimum_loss) == (TrialState.DIVERGED, False, 2.0)
        assert store.attempts.points(first.id) == good
        assert math.isnan(store.attempts.points(second.id)[1].loss)
        assert [a.log for a in store.attempts.of(first.id)] == ["a.txt"]
        assert store.attempts.claim(first.id) is None

    def test_curves_without_seconds_stay_so(self, store: Store) -> None:
        points = [LossPoint(1, None, math.nan, 2.0), LossPoint(2, None, math.nan, 1.0)]
        summary = summarize(points)
        sweep_id = store.sweeps.add_import("logs", [({"workers": 1}, "a.csv", points, summary)], over="steps")
        assert store.sweeps.find(sweep_id).over == "steps"
        (trial,) = store.trials.of(sweep_id)
        assert (trial.seconds, trial.area_seconds, trial.area_steps) == (None, None, 3.5)
        assert repr(store.attempts.points(trial.id)) == repr(points)
        assert [repr(row[4]) for row in store.attempts.curves([trial.id])] == ["nan", "nan"]

    def test_an_import_is_all_or_nothing(self, store: Store) -> None:
        twice = [LossPoint(1, 1, 1.0, 1.0)] * 2
        with pytest.raises(StoreError):
            store.sweeps.add_import(
                "logs",
                [
                    ({"workers": 1}, source, points, summarize(points))
                    for source, points in (("a", curve(1.0)), ("b", twice))
                ],
            )
        assert store.sweeps.all() == []

    # Opening

    def test_a_store_is_there_again_after_closing(self, store: Store, url: str) -> None:
        sweep_id, trials = added(store)
        store.close()
        again = open_store(url, create=False)
        assert [trial.id for trial in again.trials.of(sweep_id)] == trials
        again.close()

    def test_several_processes_may_make_the_store_at_once(self, url: str, together: Together) -> None:
        ids = together(open_and_add, url)
        store = open_store(url)
        assert sorted(sweep.id for sweep in store.sweeps.all()) == sorted(ids)
        assert len(set(ids)) == PROCESSES
        store.close()

    def test_readers_and_writers_do_not_wait_in_vain(self, store: Store) -> None:
        _, trials = added(store, mine(repeats=2))
        for trial in trials:
            store.attempts.claim(trial)

        def report(trial: str) -> int:
            for step in range(20):
                store.attempts.add_points(trial, 1, [LossPoint(step, step, float(step), 1.0)])
                store.sweeps.all()
            return len(store.attempts.points(trial))

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(report, trials)) == [20] * len(trials)

    # Refusals

    def test_what_the_database_refuses_is_a_clear_error(self, store: Store, url: str) -> None:
        sweep_id, (first, *_) = added(store)
        engine = connect(url)
        metadata.drop_all(engine)
        engine.dispose()
        calls: list[Callable[[], object]] = [
            lambda: added(store),
            lambda: store.sweeps.add_import("logs", []),
            store.sweeps.all,
            lambda: store.trials.candidates(sweep_id, "seconds"),
            lambda: store.sweeps.find(sweep_id),
            lambda: store.trials.of(sweep_id),
            lambda: store.attempts.claim(first),
            lambda: store.attempts.finish(first, 1, TrialState.COMPLETED, summarize([])),
            lambda: store.attempts.release(first, 1, ""),
            lambda: store.attempts.add_points(first, 1, curve(1.0)),
            lambda: store.attempts.points(first),
            lambda: store.attempts.add_evaluation(first, 1, EvaluationRecord(1, 64, 0.1, 1.0, 0.5)),
            lambda: store.attempts.evaluations(first),
            lambda: store.attempts.evaluations_by_trial(sweep_id),
            lambda: store.attempts.last_evaluations(sweep_id),
            lambda: store.attempts.start(first, 1, 0.0, 0.0, {}),
            lambda: store.attempts.assign_gang(first, 1, gang(sweep_id), "gang.log"),
            lambda: store.attempts.gangs(sweep_id),
            lambda: store.attempts.of(first),
            lambda: store.attempts.phases(first, 1),
        ]
        for call in calls:
            with pytest.raises(StoreError, match=re.escape(f"store {store.name}: ")) as caught:
                call()
            assert caught.value.remedy
            assert "\n" not in str(caught.value)
