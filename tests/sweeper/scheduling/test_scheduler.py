"""The scheduler's decisions, on an executor that is told what happens, in virtual time."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from engine.protocol import Ended, Event, Failed, Point
from sweeper.answers.cost import bill
from sweeper.errors import LaunchError, SeatingError, StoreError
from sweeper.gangs.base import Job, JobEvent
from sweeper.gangs.process_identity import this_machine
from sweeper.gangs.seats import Capacity, Seats
from sweeper.paths import checkpoints_folder
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.scheduling.scheduler import Scheduler
from sweeper.spec import parse_spec
from sweeper.store import EvaluationRecord, Store, TrialRecord, WaitingTrial, leases
from tests.sweeper.scheduling.scripted import (
    Script,
    ScriptedExecutor,
    TickingClock,
    Watcher,
    completes,
    ends_as,
    evaluates,
    fails,
    submit,
)


def test_the_wait_for_seats_costs_nothing(store: Store) -> None:
    """It is no part of an attempt, whether this completes, fails before its gang is up, or never gets seats."""
    sweep = submit(store, batch_size=[8, 16, 32])
    completed, failed, unseated = (trial.id for trial in store.trials.of(sweep))
    hour = datetime.now(UTC) - timedelta(hours=1)

    def script(job: Job) -> list[Event]:
        return completes(job) if job.trial_id == completed else [Failed(job.trial_id, "mpiexec has ended")]

    executor = ScriptedExecutor(script)
    executor.held = {completed: hour, failed: hour}
    Scheduler(store, executor, Watcher(), TickingClock()).run(sweep)
    attempts = {trial: store.attempts.of(trial)[0] for trial in (completed, failed, unseated)}
    assert (attempts[completed].started_at, attempts[failed].started_at) == (hour, hour)
    assert attempts[unseated].started_at >= hour + timedelta(hours=1)
    trials = [(trial.id, 2, trial.seconds) for trial in store.trials.of(sweep)]
    cost = bill(store, store.sweeps.find(sweep), trials, 1.5)
    assert [round(cost[trial], 2) for trial in attempts] == [3.0, 3.0, 0.0]


def test_what_an_interrupt_finds_without_seats_costs_nothing(store: Store) -> None:
    sweep = submit(store, batch_size=[8])
    executor, rounds = ScriptedExecutor(lambda _: []), iter([0, 0])
    with pytest.raises(KeyboardInterrupt):
        Scheduler(store, executor, Watcher(), TickingClock(), interrupts=lambda: next(rounds, 1)).run(sweep)
    (trial,) = store.trials.of(sweep)
    (attempt,) = store.attempts.of(trial.id)
    assert attempt.ended_at is not None
    assert store.attempts.seconds(sweep)[trial.id] == (attempt.ended_at - attempt.started_at).total_seconds()
    assert attempt.reason == "interrupted"


def test_the_gang_that_comes_next_is_told_of_while_others_train(store: Store) -> None:
    sweep = submit(store, workers=[1, 2, 4], batch_size=[8, 16, 32])
    executor = ScriptedExecutor(seats=4)
    Scheduler(store, executor, Watcher(), TickingClock()).run(sweep)
    sizes = [job.workers for job in executor.started]
    assert {workers for _, workers in executor.prepared} == {2, 4}, "those of one worker are the first"
    # Once a gang of this shape is at work nothing is told of it.
    assert all(after <= sizes.index(workers) for after, workers in executor.prepared)


def test_every_trial_is_run_once_and_recorded(store: Store) -> None:
    sweep = submit(store, workers=[1, 2], batch_size=[8, 16], learning_rate=[0.1, 0.2])
    executor, watcher = ScriptedExecutor(), Watcher()
    Scheduler(store, executor, watcher, TickingClock()).run(sweep)
    trials = store.trials.of(sweep)
    assert [t.state for t in trials] == [TrialState.COMPLETED] * 8
    assert sorted(job.trial_id for job in executor.started) == sorted(t.id for t in trials)
    assert set(executor.dismissed_at) <= {0, 8}  # never while something waits
    assert 8 in executor.dismissed_at
    trial = trials[-1]
    assert (trial.attempt, trial.points, trial.steps, trial.images) == (1, 3, 3, 96)
    assert trial.minimum_loss == 2.0 / 3
    assert trial.area_seconds == pytest.approx(0.1 * 2 + 0.1 * (2 + 1) / 2 + 0.1 * (1 + 2 / 3) / 2)
    assert len(store.attempts.points(trial.id)) == 3
    assert store.attempts.phases(trial.id, 1) == {"compute": 0.25, "gather": 0.05}
    (attempt,) = store.attempts.of(trial.id)
    assert (attempt.state, attempt.startup_seconds, attempt.setup_seconds) == ("completed", 1.5, 0.5)
    assert (attempt.effective, attempt.gang_id, attempt.log) == ({"device": "cpu"}, "gang-1", "gang-1.log")
    (gang,) = store.attempts.gangs(sweep)
    assert gang.versions == {"mpi": "some"}
    assert {t.id for t in watcher.ended} == {t.id for t in trials}
    assert [t for t in watcher.ended if t.id == trial.id] == [trial]


@pytest.mark.parametrize("seats", [2, 3, 5])
def test_no_more_runs_together_than_there_are_seats(store: Store, seats: int) -> None:
    sweep = submit(store, workers=[1, 2], batch_size=[8, 16, 32])
    executor = ScriptedExecutor(seats=seats)
    Scheduler(store, executor, Watcher()).run(sweep)
    assert executor.most_seats == seats
    assert store.sweeps.find(sweep).state == "completed"


@pytest.mark.parametrize(
    ("script", "state", "reason"),
    [
        (ends_as("diverged", float("nan"), "loss is nan at step 3"), TrialState.DIVERGED, "loss is nan at step 3"),
        (ends_as("diverged", float("inf"), "loss is inf"), TrialState.DIVERGED, "loss is inf"),
        (ends_as("stopped", 1.0), TrialState.CANCELLED, "stopped while it ran"),
        (fails, TrialState.FAILED, "rank 1: ValueError: no"),
    ],
)
def test_ends_that_are_not_good_are_kept_with_their_points(
    store: Store, script: Script, state: TrialState, reason: str
) -> None:
    sweep = submit(store, workers=[2])
    Scheduler(store, ScriptedExecutor(script), Watcher()).run(sweep)
    (trial,) = store.trials.of(sweep)
    assert (trial.state, trial.reason) == (state, reason)
    assert trial.points == len(store.attempts.points(trial.id)) > 0
    assert not trial.candidate("seconds").complete
    assert store.attempts.of(trial.id)[0].traceback == ("Traceback\nValueError: no" if script is fails else "")


def test_a_trial_whose_attempt_fails_is_attempted_again(store: Store) -> None:
    sweep = submit(store, workers=[1, 2])
    watcher = Watcher()
    executor = ScriptedExecutor(lambda job: fails(job) if job.attempt < 3 else completes(job))
    Scheduler(store, executor, watcher, retries=2).run(sweep)
    for trial in store.trials.of(sweep):
        assert (trial.state, trial.attempt, trial.points) == (TrialState.COMPLETED, 3, 3)
        attempts = store.attempts.of(trial.id)
        assert [attempt.state for attempt in attempts] == ["failed", "failed", "completed"]
        assert [attempt.traceback for attempt in attempts] == ["Traceback\nValueError: no"] * 2 + [""]
        assert [len(store.attempts.points(trial.id, number)) for number in (1, 2, 3)] == [1, 1, 3]
        told = [(number, reason) for failed, number, reason in watcher.failures if failed == trial.id]
        assert told == [(1, "rank 1: ValueError: no"), (2, "rank 1: ValueError: no")]
    assert len(watcher.ended) == 2
    assert executor.most_seats <= 2


def test_a_trial_that_is_lost_with_its_host_moves_to_another_without_a_retry(store: Store) -> None:
    sweep = submit(store, workers=[1])

    def lost(job: Job) -> list[Event]:
        return [*completes(job)[:3], Failed(job.trial_id, "host 10.0.0.7 has not answered", host="10.0.0.7")]

    Scheduler(store, ScriptedExecutor(lambda job: lost(job) if job.attempt < 4 else completes(job)), Watcher()).run(
        sweep
    )
    (trial,) = store.trials.of(sweep)
    assert (trial.state, trial.attempt, trial.points) == (TrialState.COMPLETED, 4, 3)
    attempts = [(one.state, one.reason) for one in store.attempts.of(trial.id)]
    assert attempts == [("failed", "host 10.0.0.7 has not answered")] * 3 + [("completed", "")]

    sweep = submit(store, workers=[1])
    Scheduler(store, ScriptedExecutor(lost), Watcher()).run(sweep)  # it may be what brings its hosts down
    (trial,) = store.trials.of(sweep)
    assert (trial.state, trial.attempt) == (TrialState.FAILED, 6)


def test_a_cluster_that_grows_is_used_as_soon_as_it_is_seen(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[8, 16, 32])
    now = [0.0]
    executor = ScriptedExecutor(seats=1)

    def grow() -> None:
        now[0] += 10.0
        executor.seats = 3

    Scheduler(store, executor, Watcher(at_point=grow), clock=lambda: now[0]).run(sweep)
    assert executor.most_seats > 1


def test_retries_come_to_an_end_and_a_divergence_is_none(store: Store) -> None:
    sweep = submit(store, workers=[1])
    Scheduler(store, ScriptedExecutor(fails), Watcher(), retries=1).run(sweep)
    (trial,) = store.trials.of(sweep)
    assert (trial.state, trial.attempt, trial.reason) == (TrialState.FAILED, 2, "rank 1: ValueError: no")
    sweep = submit(store, workers=[1])
    Scheduler(store, ScriptedExecutor(ends_as("diverged", math.nan)), Watcher(), retries=1).run(sweep)
    assert [trial.attempt for trial in store.trials.of(sweep)] == [1]


def test_all_attempts_at_a_trial_share_its_checkpoints_where_it_has_any(store: Store) -> None:
    spec = parse_spec({"name": "x", "space": {"workers": [1]}, "trial": {"checkpoint_every": 100}})
    sweep = store.sweeps.add(spec, plan(spec))
    executor = ScriptedExecutor(lambda job: fails(job) if job.attempt == 1 else completes(job))
    Scheduler(store, executor, Watcher(), retries=1).run(sweep)
    first, second = executor.started
    assert first.checkpoints == second.checkpoints
    assert Path(first.checkpoints).name == f"{first.trial_id}.checkpoints"
    executor = ScriptedExecutor()
    Scheduler(store, executor, Watcher()).run(submit(store, workers=[1]))
    assert executor.started[0].checkpoints == ""


def test_evaluations_are_recorded_and_are_in_no_curve_or_time(store: Store) -> None:
    sweep = submit(store, workers=[1, 2])
    watcher = Watcher()
    Scheduler(store, ScriptedExecutor(evaluates), watcher).run(sweep)
    for trial in store.trials.of(sweep):
        first, last = store.attempts.evaluations(trial.id, 1)
        assert first == EvaluationRecord(2, 64, 0.2, 1.5, 0.25)
        assert (last.step, last.images, last.seconds, last.accuracy) == (3, 96, 0.3, 0.75)
        assert math.isnan(last.loss)
        assert (trial.state, trial.points, trial.minimum_loss) == (TrialState.COMPLETED, 3, 2.0 / 3)
        assert trial.seconds == 0.3
        assert len(store.attempts.points(trial.id)) == 3
        assert store.attempts.phases(trial.id, 1) == {"compute": 0.25, "gather": 0.05}
    assert len(watcher.points) == 6


def test_evaluations_are_in_the_store_while_a_trial_runs_and_stay_when_it_is_interrupted(store: Store) -> None:
    sweep = submit(store, workers=[1])
    (trial,) = store.trials.of(sweep)
    seen: list[int] = []
    watcher = Watcher(at_point=lambda: seen.append(len(store.attempts.evaluations(trial.id))))
    with pytest.raises(KeyboardInterrupt):
        Scheduler(store, ScriptedExecutor(evaluates), watcher, interrupts=lambda: len(watcher.points) == 3).run(sweep)
    assert seen == [0, 0, 1]
    assert store.trials.of(sweep)[0].state is TrialState.PENDING
    assert [evaluation.step for evaluation in store.attempts.evaluations(trial.id, 1)] == [2, 3]


def test_points_are_in_the_store_while_a_trial_runs(store: Store) -> None:
    sweep = submit(store, workers=[1])
    (trial,) = store.trials.of(sweep)
    seen: list[int] = []
    watcher = Watcher(at_point=lambda: seen.append(len(store.attempts.points(trial.id))))
    Scheduler(store, ScriptedExecutor(), watcher, TickingClock()).run(sweep)
    assert seen == [0, 1, 2]


def test_an_interrupt_ends_gangs_and_gives_trials_back(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[8, 16, 32, 64])

    def interrupt() -> None:
        if len(watcher.points) == 8:
            raise KeyboardInterrupt

    watcher, executor = Watcher(at_point=interrupt), ScriptedExecutor()
    with pytest.raises(KeyboardInterrupt):
        Scheduler(store, executor, watcher).run(sweep)
    assert executor.closed
    states = [trial.state for trial in store.trials.of(sweep)]
    assert states.count(TrialState.COMPLETED) == 2
    assert states.count(TrialState.PENDING) == 2
    assert store.sweeps.find(sweep).state == "interrupted"
    given_back = [t for t in store.trials.of(sweep, [TrialState.PENDING]) if t.attempt]
    assert [a.state for t in given_back for a in store.attempts.of(t.id)] == ["interrupted"] * len(given_back)
    assert all(store.attempts.points(t.id) for t in given_back)
    assert all(t.points == 0 for t in given_back)

    Scheduler(store, ScriptedExecutor(), Watcher()).run(sweep)
    assert [t.state for t in store.trials.of(sweep)] == [TrialState.COMPLETED] * 4
    assert [len(store.attempts.points(t.id)) for t in store.trials.of(sweep)] == [3] * 4


def test_a_wish_to_interrupt_is_met_between_rounds_and_nothing_that_came_is_lost(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[8, 16])
    watcher, executor = Watcher(), ScriptedExecutor()
    with pytest.raises(KeyboardInterrupt):
        Scheduler(store, executor, watcher, interrupts=lambda: len(watcher.points) >= 4).run(sweep)
    given_back = store.trials.of(sweep, [TrialState.PENDING])
    assert executor.closed
    assert [len(store.attempts.points(trial.id)) for trial in given_back] == [3, 3]
    assert store.sweeps.find(sweep).state == "interrupted"


def test_what_runs_may_end_after_an_interrupt_and_nothing_more_is_started(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[8, 16, 32, 64])
    watcher = Watcher()
    scheduler = Scheduler(
        store, ScriptedExecutor(), watcher, interrupts=lambda: min(1, len(watcher.points)), finish_running=True
    )
    with pytest.raises(KeyboardInterrupt):
        scheduler.run(sweep)
    assert [trial.state for trial in store.trials.of(sweep)].count(TrialState.COMPLETED) == 2
    assert [trial.attempt for trial in store.trials.of(sweep, [TrialState.PENDING])] == [0, 0]


def test_a_second_interrupt_ends_what_runs(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[8, 16])
    watcher, executor = Watcher(), ScriptedExecutor()
    scheduler = Scheduler(store, executor, watcher, interrupts=lambda: len(watcher.points), finish_running=True)
    with pytest.raises(KeyboardInterrupt):
        scheduler.run(sweep)
    assert executor.closed
    assert [trial.attempt for trial in store.trials.of(sweep, [TrialState.PENDING])] == [1, 1]


def test_a_trial_is_given_back_also_where_its_points_cannot_be_written(store: Store) -> None:
    sweep = submit(store, workers=[1])

    def refuse(*_: object) -> None:
        raise StoreError("store: disk is full", "make room")

    watcher = Watcher()
    scheduler = Scheduler(store, ScriptedExecutor(), watcher, interrupts=lambda: bool(watcher.points))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store.attempts, "add_points", refuse)
        with pytest.raises(KeyboardInterrupt):
            scheduler.run(sweep)
    assert [trial.state for trial in store.trials.of(sweep)] == [TrialState.PENDING]


def test_a_launcher_that_fits_no_gang_ends_the_run_at_once_and_leaves_all_to_run(store: Store) -> None:
    sweep = submit(store, workers=[1, 2], batch_size=[8, 16])

    def wrong_for_two(job: Job) -> list[Event]:
        wrong = Failed(job.trial_id, "mpiexec starts 2 separate worlds", remedy="name another")
        return completes(job) if job.workers == 1 else [wrong]

    executor = ScriptedExecutor(wrong_for_two)
    with pytest.raises(LaunchError, match="2 separate worlds") as caught:
        Scheduler(store, executor, Watcher(), TickingClock()).run(sweep)
    assert caught.value.remedy == "name another"
    trials = store.trials.of(sweep)
    assert {trial.state for trial in trials if trial.workers == 2} == {TrialState.PENDING}
    assert [job.workers for job in executor.started].count(2) == 1
    assert "2 separate worlds" in next(trial.reason for trial in trials if trial.reason)


def test_gangs_that_never_come_up_are_set_aside_and_others_go_on(store: Store) -> None:
    sweep = submit(store, workers=[1, 2], batch_size=[2**n for n in range(1, 13)])

    def two_cannot(job: Job) -> list[Event]:
        return completes(job) if job.workers == 1 else [Failed(job.trial_id, "no GPU is visible")]

    with pytest.raises(LaunchError, match="gangs of 2 workers: 10 attempts in a row failed") as caught:
        Scheduler(store, ScriptedExecutor(two_cannot), Watcher()).run(sweep)
    assert "no GPU is visible" in str(caught.value)
    assert "--failed" not in str(caught.value)
    assert caught.value.option == "`sweeper rerun --failed`"
    states = [(trial.workers, trial.state) for trial in store.trials.of(sweep)]
    assert states.count((1, TrialState.COMPLETED)) == 12
    assert states.count((2, TrialState.FAILED)) == 10
    assert states.count((2, TrialState.PENDING)) == 2


def test_a_gang_that_comes_up_now_and_then_is_not_set_aside(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[2**n for n in range(1, 13)])
    turns = iter(range(100))

    def now_and_then(job: Job) -> list[Event]:
        return completes(job) if next(turns) % 6 == 5 else [Failed(job.trial_id, "no luck")]

    Scheduler(store, ScriptedExecutor(now_and_then), Watcher()).run(sweep)
    assert [trial.state for trial in store.trials.of(sweep)].count(TrialState.FAILED) == 10


def test_trials_that_somebody_else_claimed_are_left_to_them(store: Store) -> None:
    """And the sweep is not over before they have ended there."""
    sweep = submit(store, workers=[1], batch_size=[8, 16, 32])
    theirs = store.trials.of(sweep)[1].id
    other = store.leases.begin("another machine", "1 0")
    executor, watcher = ScriptedExecutor(), Watcher()
    look, count = store.trials.waiting, store.progress.states
    looks: list[int] = []

    def look_and_change(*which: Any) -> list[WaitingTrial]:
        found = look(*which)
        if not looks[1:]:
            assert store.attempts.claim(theirs, scheduler_id=other) == 1
        return found

    def count_and_change(sweep_id: str) -> dict[TrialState, int]:
        found = count(sweep_id)
        looks.append(sum(number for state, number in found.items() if not state.ended))
        if len(looks) == 6:
            store.attempts.finish(theirs, 1, TrialState.COMPLETED, summarize([]))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store.trials, "waiting", look_and_change)
        patch.setattr(store.progress, "states", count_and_change)
        Scheduler(store, executor, watcher).run(sweep)
    assert looks == [3, 3, 1, 1, 1, 1, 0, 0], "two of them a look"
    assert theirs not in [job.trial_id for job in executor.started]
    assert len(watcher.ended) == 2
    assert [t.state for t in store.trials.of(sweep)] == [TrialState.COMPLETED] * 3


@pytest.mark.parametrize("lease", ["none", "gone process", "ended"])
def test_what_another_scheduler_left_running_is_taken_over(store: Store, lease: str, monkeypatch: Any) -> None:
    sweep = submit(store, workers=[1], batch_size=[8, 16])
    first = store.trials.of(sweep)[0].id
    if lease == "none":
        store.attempts.claim(first)
    elif lease == "gone process":
        store.attempts.claim(first, scheduler_id=store.leases.begin(this_machine(), "1 0.00"))
    else:
        monkeypatch.setattr(leases, "LEASE", timedelta(seconds=-1))
        store.attempts.claim(first, scheduler_id=store.leases.begin("another machine", "1 0"))
        monkeypatch.undo()
    store.attempts.add_points(first, 1, [LossPoint(1, 32, 0.1, 9.0)])
    Scheduler(store, ScriptedExecutor(), Watcher()).run(sweep)
    assert [(t.state, t.attempt) for t in store.trials.of(sweep)] == [
        (TrialState.COMPLETED, 2),
        (TrialState.COMPLETED, 1),
    ]
    assert [(a.state, a.reason) for a in store.attempts.of(first)] == [
        ("interrupted", "its scheduler has gone"),
        ("completed", ""),
    ]
    assert [len(store.attempts.points(first, number)) for number in (1, 2)] == [1, 3]


def test_interruptions_use_up_no_retries(store: Store) -> None:
    sweep = submit(store, workers=[1])
    (trial,) = store.trials.of(sweep)
    store.attempts.claim(trial.id)
    store.attempts.release(trial.id, 1, "interrupted")
    Scheduler(
        store, ScriptedExecutor(lambda job: fails(job) if job.attempt == 2 else completes(job)), Watcher(), retries=1
    ).run(sweep)
    assert [(t.state, t.attempt) for t in store.trials.of(sweep)] == [(TrialState.COMPLETED, 3)]


def test_what_was_left_behind_runs_beside_what_waits(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[8, 16, 32, 64])
    store.attempts.claim(store.trials.of(sweep)[0].id)
    executor = ScriptedExecutor(seats=4)
    Scheduler(store, executor, Watcher()).run(sweep)
    assert executor.most_seats == 4


def test_what_earlier_runs_left_is_ended_first_and_again_where_a_scheduler_has_gone(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[8, 16])
    store.attempts.claim(store.trials.of(sweep)[1].id)  # by nobody who has a lease
    executor = ScriptedExecutor()
    Scheduler(store, executor, Watcher()).run(sweep)
    assert executor.orphans_of == [sweep, sweep]


@pytest.mark.parametrize(("alone", "together"), [(False, 3), (True, 1)])
def test_trials_one_at_a_time_leave_seats_free(store: Store, alone: bool, together: int) -> None:
    sweep = submit(store, workers=[1, 2], batch_size=[8, 16, 32])
    executor = ScriptedExecutor(seats=3)
    Scheduler(store, executor, Watcher(), one_at_a_time=alone).run(sweep)
    assert {trial.state for trial in store.trials.of(sweep)} == {TrialState.COMPLETED}
    assert executor.most_together == together
    assert bool(executor.prepared) is not alone  # no gang starts beside a trial


def test_more_workers_than_seats_are_refused_or_share_them_and_are_marked(store: Store) -> None:
    sweep = submit(store, workers=[2, 5])
    executor = ScriptedExecutor(seats=2)
    with pytest.raises(SeatingError, match="5 cannot be seated"):
        Scheduler(store, executor, Watcher()).run(sweep)
    assert [t.state for t in store.trials.of(sweep)] == [TrialState.COMPLETED, TrialState.PENDING]
    Scheduler(store, executor := ScriptedExecutor(seats=2), Watcher(), oversubscribe=True).run(sweep)
    (job,) = executor.started
    assert (job.workers, job.granted, job.need) == (5, (2, 0), Seats(2))
    two, five = store.trials.of(sweep)
    assert (two.oversubscribed, five.oversubscribed) == (False, True)
    assert five.state is TrialState.COMPLETED
    assert five.area_seconds
    assert five.candidate("seconds").area is None
    assert five.candidate("seconds", oversubscribed=True).area == five.area_seconds
    assert five.candidate("images").area == five.area_images


@pytest.mark.parametrize("checkpoints", [None, 100])
def test_a_mark_goes_with_another_attempt_unless_seconds_were_carried_over(
    store: Store, checkpoints: int | None
) -> None:
    trial = {"checkpoint_every": checkpoints}
    spec = parse_spec({"name": "x", "space": {"workers": [5]}, "trial": trial})
    sweep = store.sweeps.add(spec, plan(spec))
    Scheduler(store, ScriptedExecutor(fails, seats=2), Watcher(), oversubscribe=True).run(sweep)
    assert [t.oversubscribed for t in store.trials.of(sweep)] == [True]
    store.sweeps.try_failed_again(sweep)
    Scheduler(store, ScriptedExecutor(seats=5), Watcher(), oversubscribe=True).run(sweep)
    assert [(t.state, t.oversubscribed) for t in store.trials.of(sweep)] == [
        (TrialState.COMPLETED, checkpoints is not None)
    ]


def test_a_gang_that_is_killed_while_all_end_is_no_failure(store: Store) -> None:
    sweep = submit(store, workers=[1])
    watcher = Watcher()
    with pytest.raises(KeyboardInterrupt):
        Scheduler(
            store, ScriptedExecutor(fails), watcher, interrupts=lambda: 2 * bool(watcher.points), finish_running=True
        ).run(sweep)
    (trial,) = store.trials.of(sweep)
    assert (trial.state, trial.reason) == (TrialState.PENDING, "interrupted")


@pytest.mark.parametrize("retries", [0, 2])
def test_what_fails_while_the_hosts_are_taken_away_is_interrupted_whoever_hears_of_it_first(
    store: Store, retries: int
) -> None:
    sweep = submit(store, workers=[1], batch_size=[8, 16, 32])

    def first_completes(job: Job) -> list[Event]:
        return completes(job) if len(executor.started) == 1 else fails(job)

    executor, watcher = ScriptedExecutor(first_completes, seats=1), Watcher()
    with pytest.raises(KeyboardInterrupt):
        Scheduler(store, executor, watcher, retries=retries, is_cut_off=lambda: True).run(sweep)
    trials = store.trials.of(sweep)
    assert [(t.state, t.attempt) for t in trials] == [
        (TrialState.COMPLETED, 1),
        (TrialState.PENDING, 1),
        (TrialState.PENDING, 0),
    ]
    assert [a.state for t in trials for a in store.attempts.of(t.id)] == ["completed", "interrupted"]
    assert executor.closed
    assert not watcher.failures


@pytest.mark.parametrize("cut_off", [True, False])
def test_a_program_that_ends_in_order_since_its_host_is_taken_away_has_not_completed(
    store: Store, cut_off: bool
) -> None:
    spec = parse_spec({"name": "own", "trial": {"command": ["train"]}, "space": {"workers": [1]}})
    sweep = store.sweeps.add(spec, plan(spec))
    scheduler = Scheduler(store, ScriptedExecutor(), Watcher(), is_cut_off=lambda: cut_off)
    if cut_off:
        with pytest.raises(KeyboardInterrupt):
            scheduler.run(sweep)
    else:
        scheduler.run(sweep)
    (trial,) = store.trials.of(sweep)
    assert trial.state is (TrialState.PENDING if cut_off else TrialState.COMPLETED)


def test_what_is_added_while_it_runs_is_run_too(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[8])
    more = plan(parse_spec({"name": "more", "space": {"workers": [1], "batch_size": [8, 16, 32]}}))
    watcher = Watcher(at_point=lambda: store.sweeps.extend(sweep, more))
    Scheduler(store, ScriptedExecutor(), watcher).run(sweep)
    assert [(t.state, t.attempt) for t in store.trials.of(sweep)] == [(TrialState.COMPLETED, 1)] * 3


def test_a_trial_that_was_given_to_another_is_stopped_here(store: Store) -> None:
    sweep = submit(store, workers=[1])
    (trial,) = store.trials.of(sweep)
    stopped: list[str] = []

    class Stoppable(ScriptedExecutor):
        def stop(self, trial_id: str) -> None:
            stopped.append(trial_id)

    other = store.leases.begin("another machine", "1 0")

    def take_over() -> None:
        if len(watcher.points) == 1:
            store.attempts.release(trial.id, 1, "its lease ran out")
            assert store.attempts.claim(trial.id, scheduler_id=other) == 2
        if len(watcher.points) == 3:
            store.attempts.finish(trial.id, 2, TrialState.COMPLETED, summarize([]))

    watcher = Watcher(at_point=take_over)
    Scheduler(store, Stoppable(), watcher, TickingClock(step=6.0)).run(sweep)
    assert stopped
    assert set(stopped) == {trial.id}
    assert [(t.state, t.attempt) for t in store.trials.of(sweep)] == [(TrialState.COMPLETED, 2)]


def test_a_trial_that_fails_in_a_sweep_that_is_being_stopped_is_not_tried_again(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[8, 16])
    watcher = Watcher(at_point=lambda: store.sweeps.ask_to_stop(sweep))
    Scheduler(store, ScriptedExecutor(fails, seats=1), watcher, retries=5).run(sweep)
    assert sorted(t.state for t in store.trials.of(sweep)) == [TrialState.CANCELLED, TrialState.FAILED]


def test_an_end_that_comes_after_the_trial_was_given_to_another_does_not_count(store: Store) -> None:
    sweep = submit(store, workers=[1])
    (trial,) = store.trials.of(sweep)

    def take_over() -> None:
        if len(watcher.points) < 3:
            return
        store.attempts.release(trial.id, 1, "its lease ran out")
        assert store.attempts.claim(trial.id) == 2
        store.attempts.finish(trial.id, 2, TrialState.DIVERGED, summarize([]))

    watcher = Watcher(at_point=take_over)
    Scheduler(store, ScriptedExecutor(), watcher).run(sweep)
    assert [(t.state, t.attempt) for t in store.trials.of(sweep)] == [(TrialState.DIVERGED, 2)]
    assert not watcher.ended


def test_a_claim_that_was_recorded_unbeknown_is_given_back_and_run(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[16, 32])
    last = store.trials.of(sweep)[1]

    class Forgetful(Watcher):
        def trial_started(self, trial: TrialRecord) -> None:
            if not self.started:
                store.attempts.claim(last.id, scheduler_id=trial.scheduler_id)
            super().trial_started(trial)

    Scheduler(store, ScriptedExecutor(), Forgetful(), TickingClock()).run(sweep)
    assert [(t.state, t.attempt) for t in store.trials.of(sweep)] == [
        (TrialState.COMPLETED, 1),
        (TrialState.COMPLETED, 2),
    ]


@pytest.mark.parametrize("given_away", [False, True])
def test_a_stopped_trials_checkpoints_go_unless_another_runs_it(
    store: Store, given_away: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWEEPER_LOGS", str(tmp_path))
    sweep = submit(store, workers=[1])
    (trial,) = store.trials.of(sweep)
    folder = checkpoints_folder(trial.id)
    folder.mkdir(parents=True)

    def give_away() -> None:
        if given_away and len(watcher.points) == 3:
            store.attempts.release(trial.id, 1, "its lease ran out")
            assert store.attempts.claim(trial.id) == 2
            store.attempts.finish(trial.id, 2, TrialState.COMPLETED, summarize([]))

    watcher = Watcher(at_point=give_away)
    Scheduler(store, ScriptedExecutor(ends_as("stopped", 1.0)), watcher).run(sweep)
    assert folder.exists() == given_away


@pytest.mark.parametrize("outcome", ["completed", "stopped", "diverged", "failed"])
@pytest.mark.parametrize("every", [None, 100])
def test_hosts_remove_the_checkpoints_of_a_trial_that_has_a_result(
    store: Store, outcome: str, every: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWEEPER_LOGS", str(tmp_path))
    spec = parse_spec({"name": "x", "space": {"workers": [1]}, "trial": {"checkpoint_every": every}})
    sweep = store.sweeps.add(spec, plan(spec))
    executor = ScriptedExecutor(fails if outcome == "failed" else ends_as(outcome, 1.0))
    Scheduler(store, executor, Watcher()).run(sweep)
    (trial,) = store.trials.of(sweep)
    is_removed = every is not None and outcome != "failed"  # a rerun of what failed goes on from them
    assert executor.removed == [str(checkpoints_folder(trial.id))] * is_removed


def test_a_wish_to_stop_reaches_what_runs(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[8, 16, 32])
    stopped: list[str] = []

    class Stoppable(ScriptedExecutor):
        def stop(self, trial_id: str) -> None:
            stopped.append(trial_id)
            job, _ = self._playing[trial_id]
            self._playing[trial_id] = (job, deque([Ended(trial_id, "stopped", 1, 32, 0.1)]))

    watcher = Watcher(at_point=lambda: len(watcher.points) == 1 and store.sweeps.ask_to_stop(sweep))
    Scheduler(store, Stoppable(seats=1), watcher, TickingClock()).run(sweep)
    assert [t.state for t in store.trials.of(sweep)] == [TrialState.CANCELLED] * 3
    assert stopped == [store.trials.of(sweep)[0].id]


def test_a_store_that_refuses_ends_the_gangs_and_is_told(store: Store) -> None:
    sweep = submit(store, workers=[1])
    executor = ScriptedExecutor()

    def refuse(*_: object, **__: object) -> None:
        raise StoreError("store: disk is full", "make room")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store.attempts, "finish", refuse)
        with pytest.raises(StoreError, match="disk is full"):
            Scheduler(store, executor, Watcher()).run(sweep)
    assert executor.closed
    assert [t.state for t in store.trials.of(sweep)] == [TrialState.PENDING]


class HostsExecutor(ScriptedExecutor):
    """Two hosts with two seats each. A gang sits on one of them, as Ray would have it, or waits until it can."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.seated: list[int] = []  # workers, in the order in which their gangs got seats
        self._free = {"one": 2, "other": 2}
        self._place: dict[str, str] = {}

    def capacity(self) -> Capacity:
        return Capacity((Seats(2), Seats(2)))

    def events(self, timeout_s: float) -> Sequence[JobEvent]:
        waiting = {}
        for trial_id, (job, events) in list(self._playing.items()):
            # Single workers spread out, and so leave no host to a pair.
            host = max(self._free, key=lambda host: self._free[host])
            if trial_id not in self._place and self._free[host] >= job.workers:
                self._place[trial_id] = host
                self._free[host] -= job.workers
                self.held[trial_id] = datetime.now(UTC)
                self.seated.append(job.workers)
            if trial_id not in self._place:
                waiting[trial_id] = self._playing.pop(trial_id)
            elif len(events) == 1:
                self._free[self._place[trial_id]] += job.workers
        told = super().events(timeout_s)
        self._playing = waiting | self._playing  # the next seats are for those who have waited longest
        return told


def test_a_gang_that_no_host_has_room_for_keeps_no_seats_from_others(store: Store) -> None:
    """Two single workers on a host each, then a pair, then further single workers, which need not wait for it."""
    space = {"workers": [1, 2], "batch_size": [8, 16, 32], "seed": [0, 1]}
    spec = parse_spec({"name": "scattered", "space": space})
    of = {workers: [trial for trial in plan(spec) if trial.workers == workers] for workers in (1, 2)}
    sweep = store.sweeps.add(spec, [*of[1][:2], of[2][2], *of[1][4:]])

    def script(job: Job) -> list[Event]:
        last = {8: 60, 16: 3, 32: 3}[job.config["batch_size"]]
        points = [Point(job.trial_id, step, 32 * step, step / 10, 2.0 / step) for step in range(1, last + 1)]
        return [*completes(job)[:2], *points, Ended(job.trial_id, "completed", last, 32 * last, last / 10)]

    executor = HostsExecutor(script)
    Scheduler(store, executor, Watcher(), TickingClock()).run(sweep)
    assert executor.seated == [1, 1, 1, 1, 2]
    assert store.progress.states(sweep) == {TrialState.COMPLETED: 5}


class ShrinkingExecutor(ScriptedExecutor):
    """Two hosts, of which one is away from the first job until the capacity has been asked for several times more."""

    def __init__(self, returns: bool) -> None:
        super().__init__(seats=2)
        self._returns, self._asked = returns, 0

    def capacity(self) -> Capacity:
        self._asked += bool(self.started)
        away = bool(self.started) and not (self._returns and self._asked > 5)
        return Capacity((Seats(2),) if away else (Seats(2), Seats(2)))


def test_trials_wait_for_a_host_that_is_away(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    spec = parse_spec({"name": "away", "space": {"workers": [1, 4]}})
    sweep = store.sweeps.add(spec, plan(spec))
    Scheduler(store, ShrinkingExecutor(returns=True), Watcher(), TickingClock()).run(sweep)
    assert store.progress.states(sweep) == {TrialState.COMPLETED: 2}
    told = [one.getMessage() for one in caplog.records if "wait for hosts" in one.getMessage()]
    assert told == [
        "trials of 4 workers wait for hosts that are away: 2 of 4 CPUs are left; interrupt the sweep to give up"
    ]


def test_an_interrupt_ends_the_wait_for_a_host(store: Store) -> None:
    spec = parse_spec({"name": "away", "space": {"workers": [1, 4]}})
    sweep = store.sweeps.add(spec, plan(spec))
    executor = ShrinkingExecutor(returns=False)
    asked = count()
    with pytest.raises(KeyboardInterrupt):
        Scheduler(store, executor, Watcher(), TickingClock(), interrupts=lambda: int(next(asked) > 300)).run(sweep)
    assert store.progress.states(sweep) == {TrialState.COMPLETED: 1, TrialState.PENDING: 1}
