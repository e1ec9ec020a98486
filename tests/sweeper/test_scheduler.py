"""The scheduler's decisions, on an executor that is told what happens, in virtual time."""

from __future__ import annotations

import contextlib
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engine.protocol import Ended, Evaluated, Event, Failed, Point, Ready, Started
from sweeper.cli.answers import best_answer
from sweeper.curve import LossPoint, summarize
from sweeper.errors import LaunchError, SeatingError, StoreError
from sweeper.gangs.base import Capacity, Job, JobEvent, Seats
from sweeper.owner import this_machine
from sweeper.paths import checkpoints_folder
from sweeper.plan import plan
from sweeper.scheduler import Scheduler
from sweeper.search import Guide, guide_for
from sweeper.spec import parse_spec
from sweeper.store import EvaluationRecord, Store, TrialRecord, leases, open_store
from sweeper.trial import TrialSpec, TrialState

Script = Callable[[Job], list[Event]]


def completes(job: Job) -> list[Event]:
    """Three points and a good end."""
    trial = job.trial_id
    points: list[Event] = [Point(trial, step, 32 * step, step / 10, 2.0 / step) for step in (1, 2, 3)]
    phases = {"compute": 0.25, "gather": 0.05}
    return [
        Ready(job.workers, [101, 102][: job.workers], ["host"] * job.workers, {"mpi": "some"}),
        Started(trial, 0.5, {"device": "cpu"}),
        *points,
        Ended(trial, "completed", 3, 96, 0.3, phases),
    ]


def ends_as(outcome: str, loss: float, reason: str = "") -> Script:
    def script(job: Job) -> list[Event]:
        return [
            *completes(job)[:-2],
            Point(job.trial_id, 3, 96, 0.3, loss),
            Ended(job.trial_id, outcome, 3, 96, 0.3, {}, reason),
        ]

    return script


def fails(job: Job) -> list[Event]:
    return [*completes(job)[:3], Failed(job.trial_id, "rank 1: ValueError: no", 1, "Traceback\nValueError: no")]


def evaluates(job: Job) -> list[Event]:
    """Evaluated halfway and at the end, where the loss is no number any more."""
    ready, started, *points, ended = completes(job)
    halfway = Evaluated(job.trial_id, 2, 64, 0.2, 1.5, 0.25, 9.0)
    at_end = Evaluated(job.trial_id, 3, 96, 0.3, math.nan, 0.75, 9.0)
    return [ready, started, *points[:2], halfway, points[2], at_end, ended]


class ScriptedExecutor:
    """Has two seats and plays each job's script, one event a call; notes what was running together."""

    def __init__(self, script: Script = completes, seats: int = 2) -> None:
        self.script, self.seats = script, seats
        self.started: list[Job] = []
        self.most_seats = 0
        self.closed = False
        self.orphans_of: list[str] = []
        self.dismissed_at: list[int] = []
        self._playing: dict[str, tuple[Job, deque[Event]]] = {}

    def capacity(self) -> Capacity:
        return Capacity((Seats(self.seats),))

    def start(self, job: Job) -> None:
        self.started.append(job)
        self._playing[job.trial_id] = (job, deque(self.script(job)))
        self.most_seats = max(self.most_seats, sum(j.need.cpus for j, _ in self._playing.values()))

    def events(self, timeout_s: float) -> Sequence[JobEvent]:  # noqa: ARG002 - virtual time never waits
        happened = []
        for job, events in list(self._playing.values()):
            if self.closed or not events:
                continue
            where = ("gang-1", "gang-1.log", 2.0, job.granted is not None)
            happened.append(JobEvent(job.trial_id, job.attempt, events.popleft(), *where))
            if not events:
                del self._playing[job.trial_id]
        return happened

    def stop(self, trial_id: str) -> None: ...

    def dismiss_idle(self) -> None:
        self.dismissed_at.append(len(self.started))

    def end_orphans(self, sweep_id: str) -> None:
        self.orphans_of.append(sweep_id)

    def close(self) -> None:
        self.closed = True


class Watcher:
    """Keeps what an observer is told; `at_point` is called at each point."""

    def __init__(self, at_point: Callable[[], object] = lambda: None) -> None:
        self.started: list[str] = []
        self.points: list[tuple[str, LossPoint]] = []
        self.ended: list[TrialRecord] = []
        self.failures: list[tuple[str, int, str]] = []
        self._at_point = at_point

    def trial_started(self, trial: TrialRecord) -> None:
        self.started.append(trial.id)

    def point_reported(self, trial: TrialRecord, point: LossPoint) -> None:
        self.points.append((trial.id, point))
        self._at_point()

    def trial_ended(self, trial: TrialRecord) -> None:
        self.ended.append(trial)

    def attempt_failed(self, trial: TrialRecord, reason: str) -> None:
        assert trial.state is TrialState.PENDING
        self.failures.append((trial.id, trial.attempt, reason))


class TickingClock:
    """Each look at it is a second later, or more."""

    def __init__(self, step: float = 1.0) -> None:
        self.now, self._step = 0.0, step

    def __call__(self) -> float:
        self.now += self._step
        return self.now


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path}/sweeper.db")
    yield opened
    opened.close()


def submit(store: Store, **space: list[Any]) -> str:
    spec = parse_spec({"name": "scheduled", "space": space})
    return store.add_sweep(spec, plan(spec))


def test_every_trial_is_run_once_and_recorded(store: Store) -> None:
    sweep = submit(store, workers=[1, 2], batch_size=[8, 16], learning_rate=[0.1, 0.2])
    executor, watcher = ScriptedExecutor(), Watcher()
    Scheduler(store, executor, watcher, TickingClock()).run(sweep)
    trials = store.trials(sweep)
    assert [t.state for t in trials] == [TrialState.COMPLETED] * 8
    assert sorted(job.trial_id for job in executor.started) == sorted(t.id for t in trials)
    assert set(executor.dismissed_at) <= {0, 8}  # never while something waits
    assert 8 in executor.dismissed_at
    trial = trials[-1]
    assert (trial.attempt, trial.points, trial.steps, trial.images) == (1, 3, 3, 96)
    assert trial.minimum_loss == 2.0 / 3
    assert trial.area_seconds == pytest.approx(0.1 * (2 + 1) / 2 + 0.1 * (1 + 2 / 3) / 2)
    assert len(store.points(trial.id)) == 3
    assert store.phases(trial.id, 1) == {"compute": 0.25, "gather": 0.05}
    (attempt,) = store.attempts(trial.id)
    assert (attempt.state, attempt.startup_seconds, attempt.setup_seconds) == ("completed", 1.5, 0.5)
    assert (attempt.effective, attempt.gang_id, attempt.log) == ({"device": "cpu"}, "gang-1", "gang-1.log")
    (gang,) = store.gangs(sweep)
    assert gang.versions == {"mpi": "some"}
    assert {t.id for t in watcher.ended} == {t.id for t in trials}
    assert [t for t in watcher.ended if t.id == trial.id] == [trial]


@pytest.mark.parametrize("seats", [2, 3, 5])
def test_no_more_runs_together_than_there_are_seats(store: Store, seats: int) -> None:
    sweep = submit(store, workers=[1, 2], batch_size=[8, 16, 32])
    executor = ScriptedExecutor(seats=seats)
    Scheduler(store, executor, Watcher()).run(sweep)
    assert executor.most_seats == seats
    assert store.find_sweep(sweep).state == "completed"


@pytest.mark.parametrize(
    ("script", "state", "reason"),
    [
        (ends_as("diverged", float("nan"), "loss is nan at step 3"), TrialState.DIVERGED, "loss is nan at step 3"),
        (ends_as("diverged", float("inf"), "loss is inf"), TrialState.DIVERGED, "loss is inf"),
        (ends_as("stopped", 1.0), TrialState.CANCELLED, ""),
        (fails, TrialState.FAILED, "rank 1: ValueError: no"),
    ],
)
def test_ends_that_are_not_good_are_kept_with_their_points(
    store: Store, script: Script, state: TrialState, reason: str
) -> None:
    sweep = submit(store, workers=[2])
    Scheduler(store, ScriptedExecutor(script), Watcher()).run(sweep)
    (trial,) = store.trials(sweep)
    assert (trial.state, trial.reason) == (state, reason)
    assert trial.points == len(store.points(trial.id)) > 0
    assert not trial.candidate("seconds").complete
    assert store.attempts(trial.id)[0].traceback == ("Traceback\nValueError: no" if script is fails else "")


def test_a_trial_whose_attempt_fails_is_attempted_again(store: Store) -> None:
    sweep = submit(store, workers=[1, 2])
    watcher = Watcher()
    executor = ScriptedExecutor(lambda job: fails(job) if job.attempt < 3 else completes(job))
    Scheduler(store, executor, watcher, retries=2).run(sweep)
    for trial in store.trials(sweep):
        assert (trial.state, trial.attempt, trial.points) == (TrialState.COMPLETED, 3, 3)
        attempts = store.attempts(trial.id)
        assert [attempt.state for attempt in attempts] == ["failed", "failed", "completed"]
        assert [attempt.traceback for attempt in attempts] == ["Traceback\nValueError: no"] * 2 + [""]
        assert [len(store.points(trial.id, number)) for number in (1, 2, 3)] == [1, 1, 3]
        told = [(number, reason) for failed, number, reason in watcher.failures if failed == trial.id]
        assert told == [(1, "rank 1: ValueError: no"), (2, "rank 1: ValueError: no")]
    assert len(watcher.ended) == 2
    assert executor.most_seats <= 2


def test_retries_come_to_an_end_and_a_divergence_is_none(store: Store) -> None:
    sweep = submit(store, workers=[1])
    Scheduler(store, ScriptedExecutor(fails), Watcher(), retries=1).run(sweep)
    (trial,) = store.trials(sweep)
    assert (trial.state, trial.attempt, trial.reason) == (TrialState.FAILED, 2, "rank 1: ValueError: no")
    sweep = submit(store, workers=[1])
    Scheduler(store, ScriptedExecutor(ends_as("diverged", math.nan)), Watcher(), retries=1).run(sweep)
    assert [trial.attempt for trial in store.trials(sweep)] == [1]


def test_all_attempts_at_a_trial_share_its_checkpoints_where_it_has_any(store: Store) -> None:
    spec = parse_spec({"name": "x", "space": {"workers": [1]}, "trial": {"checkpoint_every": 100}})
    sweep = store.add_sweep(spec, plan(spec))
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
    for trial in store.trials(sweep):
        first, last = store.evaluations(trial.id, 1)
        assert first == EvaluationRecord(2, 64, 0.2, 1.5, 0.25)
        assert (last.step, last.images, last.seconds, last.accuracy) == (3, 96, 0.3, 0.75)
        assert math.isnan(last.loss)
        assert (trial.state, trial.points, trial.minimum_loss) == (TrialState.COMPLETED, 3, 2.0 / 3)
        assert trial.seconds == 0.3
        assert len(store.points(trial.id)) == 3
        assert store.phases(trial.id, 1) == {"compute": 0.25, "gather": 0.05}
    assert len(watcher.points) == 6


def test_evaluations_are_in_the_store_while_a_trial_runs_and_stay_when_it_is_interrupted(store: Store) -> None:
    sweep = submit(store, workers=[1])
    (trial,) = store.trials(sweep)
    seen: list[int] = []
    watcher = Watcher(at_point=lambda: seen.append(len(store.evaluations(trial.id))))
    with pytest.raises(KeyboardInterrupt):
        Scheduler(store, ScriptedExecutor(evaluates), watcher, interrupts=lambda: len(watcher.points) == 3).run(sweep)
    assert seen == [0, 0, 1]
    assert store.trials(sweep)[0].state is TrialState.PENDING
    assert [evaluation.step for evaluation in store.evaluations(trial.id, 1)] == [2, 3]


def test_points_are_in_the_store_while_a_trial_runs(store: Store) -> None:
    sweep = submit(store, workers=[1])
    (trial,) = store.trials(sweep)
    seen: list[int] = []
    watcher = Watcher(at_point=lambda: seen.append(len(store.points(trial.id))))
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
    states = [trial.state for trial in store.trials(sweep)]
    assert states.count(TrialState.COMPLETED) == 2
    assert states.count(TrialState.PENDING) == 2
    assert store.find_sweep(sweep).state == "interrupted"
    given_back = [t for t in store.trials(sweep, [TrialState.PENDING]) if t.attempt]
    assert [a.state for t in given_back for a in store.attempts(t.id)] == ["interrupted"] * len(given_back)
    assert all(store.points(t.id) for t in given_back)
    assert all(t.points == 0 for t in given_back)

    Scheduler(store, ScriptedExecutor(), Watcher()).run(sweep)
    assert [t.state for t in store.trials(sweep)] == [TrialState.COMPLETED] * 4
    assert [len(store.points(t.id)) for t in store.trials(sweep)] == [3] * 4


def test_a_wish_to_interrupt_is_met_between_rounds_and_nothing_that_came_is_lost(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[8, 16])
    watcher, executor = Watcher(), ScriptedExecutor()
    with pytest.raises(KeyboardInterrupt):
        Scheduler(store, executor, watcher, interrupts=lambda: len(watcher.points) >= 4).run(sweep)
    given_back = store.trials(sweep, [TrialState.PENDING])
    assert executor.closed
    assert [len(store.points(trial.id)) for trial in given_back] == [3, 3]
    assert store.find_sweep(sweep).state == "interrupted"


def test_what_runs_may_end_after_an_interrupt_and_nothing_more_is_started(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[8, 16, 32, 64])
    watcher = Watcher()
    scheduler = Scheduler(
        store, ScriptedExecutor(), watcher, interrupts=lambda: min(1, len(watcher.points)), finish_running=True
    )
    with pytest.raises(KeyboardInterrupt):
        scheduler.run(sweep)
    assert [trial.state for trial in store.trials(sweep)].count(TrialState.COMPLETED) == 2
    assert [trial.attempt for trial in store.trials(sweep, [TrialState.PENDING])] == [0, 0]


def test_a_second_interrupt_ends_what_runs(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[8, 16])
    watcher, executor = Watcher(), ScriptedExecutor()
    scheduler = Scheduler(store, executor, watcher, interrupts=lambda: len(watcher.points), finish_running=True)
    with pytest.raises(KeyboardInterrupt):
        scheduler.run(sweep)
    assert executor.closed
    assert [trial.attempt for trial in store.trials(sweep, [TrialState.PENDING])] == [1, 1]


def test_a_trial_is_given_back_also_where_its_points_cannot_be_written(store: Store) -> None:
    sweep = submit(store, workers=[1])

    def refuse(*_: object) -> None:
        raise StoreError("store: disk is full", "make room")

    watcher = Watcher()
    scheduler = Scheduler(store, ScriptedExecutor(), watcher, interrupts=lambda: bool(watcher.points))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "add_points", refuse)
        with pytest.raises(KeyboardInterrupt):
            scheduler.run(sweep)
    assert [trial.state for trial in store.trials(sweep)] == [TrialState.PENDING]


def test_gangs_that_never_come_up_are_set_aside_and_others_go_on(store: Store) -> None:
    sweep = submit(store, workers=[1, 2], batch_size=[2**n for n in range(1, 13)])

    def two_cannot(job: Job) -> list[Event]:
        return completes(job) if job.workers == 1 else [Failed(job.trial_id, "no GPU is visible")]

    with pytest.raises(LaunchError, match="gangs of 2 workers: 10 attempts in a row failed") as caught:
        Scheduler(store, ScriptedExecutor(two_cannot), Watcher()).run(sweep)
    assert "no GPU is visible" in str(caught.value)
    states = [(trial.workers, trial.state) for trial in store.trials(sweep)]
    assert states.count((1, TrialState.COMPLETED)) == 12
    assert states.count((2, TrialState.FAILED)) == 10
    assert states.count((2, TrialState.PENDING)) == 2


def test_a_gang_that_comes_up_now_and_then_is_not_set_aside(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[2**n for n in range(1, 13)])
    turns = iter(range(100))

    def now_and_then(job: Job) -> list[Event]:
        return completes(job) if next(turns) % 6 == 5 else [Failed(job.trial_id, "no luck")]

    Scheduler(store, ScriptedExecutor(now_and_then), Watcher()).run(sweep)
    assert [trial.state for trial in store.trials(sweep)].count(TrialState.FAILED) == 10


def test_trials_that_somebody_else_claimed_are_left_to_them(store: Store) -> None:
    """And the sweep is not over before they have ended there."""
    sweep = submit(store, workers=[1], batch_size=[8, 16, 32])
    theirs = store.trials(sweep)[1].id
    other = store.add_scheduler("another machine", "1 0")
    executor, watcher = ScriptedExecutor(), Watcher()
    look = store.trials
    looks: list[int] = []

    def look_and_change(sweep_id: str, states: Sequence[TrialState] = ()) -> list[TrialRecord]:
        found = look(sweep_id, states)
        looks.append(len(found))
        if len(looks) == 1:
            assert store.claim(theirs, scheduler_id=other) == 1
        if len(looks) == 4:
            store.finish(theirs, 1, TrialState.COMPLETED, summarize([]))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "trials", look_and_change)
        Scheduler(store, executor, watcher).run(sweep)
    assert looks == [3, 1, 1, 1, 0]
    assert theirs not in [job.trial_id for job in executor.started]
    assert len(watcher.ended) == 2
    assert [t.state for t in store.trials(sweep)] == [TrialState.COMPLETED] * 3


@pytest.mark.parametrize("lease", ["none", "gone process", "ended"])
def test_what_another_scheduler_left_running_is_taken_over(store: Store, lease: str, monkeypatch: Any) -> None:
    sweep = submit(store, workers=[1], batch_size=[8, 16])
    first = store.trials(sweep)[0].id
    if lease == "none":
        store.claim(first)
    elif lease == "gone process":
        store.claim(first, scheduler_id=store.add_scheduler(this_machine(), "1 0.00"))
    else:
        monkeypatch.setattr(leases, "LEASE", timedelta(seconds=-1))
        store.claim(first, scheduler_id=store.add_scheduler("another machine", "1 0"))
        monkeypatch.undo()
    store.add_points(first, 1, [LossPoint(1, 32, 0.1, 9.0)])
    Scheduler(store, ScriptedExecutor(), Watcher()).run(sweep)
    assert [(t.state, t.attempt) for t in store.trials(sweep)] == [(TrialState.COMPLETED, 2), (TrialState.COMPLETED, 1)]
    assert [(a.state, a.reason) for a in store.attempts(first)] == [
        ("interrupted", "its scheduler has gone"),
        ("completed", ""),
    ]
    assert [len(store.points(first, number)) for number in (1, 2)] == [1, 3]


def test_interruptions_use_up_no_retries(store: Store) -> None:
    sweep = submit(store, workers=[1])
    (trial,) = store.trials(sweep)
    store.claim(trial.id)
    store.release(trial.id, 1, "interrupted")
    Scheduler(
        store, ScriptedExecutor(lambda job: fails(job) if job.attempt == 2 else completes(job)), Watcher(), retries=1
    ).run(sweep)
    assert [(t.state, t.attempt) for t in store.trials(sweep)] == [(TrialState.COMPLETED, 3)]


def test_what_was_left_behind_runs_beside_what_waits(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[8, 16, 32, 64])
    store.claim(store.trials(sweep)[0].id)
    executor = ScriptedExecutor(seats=4)
    Scheduler(store, executor, Watcher()).run(sweep)
    assert executor.most_seats == 4


def test_what_earlier_runs_left_is_ended_first_and_again_where_a_scheduler_has_gone(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[8, 16])
    store.claim(store.trials(sweep)[1].id)  # by nobody who has a lease
    executor = ScriptedExecutor()
    Scheduler(store, executor, Watcher()).run(sweep)
    assert executor.orphans_of == [sweep, sweep]


def test_more_workers_than_seats_are_refused_or_share_them_and_are_marked(store: Store) -> None:
    sweep = submit(store, workers=[2, 5])
    executor = ScriptedExecutor(seats=2)
    with pytest.raises(SeatingError, match="5 cannot be seated"):
        Scheduler(store, executor, Watcher()).run(sweep)
    assert [t.state for t in store.trials(sweep)] == [TrialState.COMPLETED, TrialState.PENDING]
    Scheduler(store, executor := ScriptedExecutor(seats=2), Watcher(), oversubscribe=True).run(sweep)
    (job,) = executor.started
    assert (job.workers, job.granted, job.need) == (5, (2, 0), Seats(2))
    two, five = store.trials(sweep)
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
    sweep = store.add_sweep(spec, plan(spec))
    Scheduler(store, ScriptedExecutor(fails, seats=2), Watcher(), oversubscribe=True).run(sweep)
    assert [t.oversubscribed for t in store.trials(sweep)] == [True]
    store.try_failed_again(sweep)
    Scheduler(store, ScriptedExecutor(seats=5), Watcher(), oversubscribe=True).run(sweep)
    assert [(t.state, t.oversubscribed) for t in store.trials(sweep)] == [
        (TrialState.COMPLETED, checkpoints is not None)
    ]


def test_a_gang_that_is_killed_while_all_end_is_no_failure(store: Store) -> None:
    sweep = submit(store, workers=[1])
    watcher = Watcher()
    with pytest.raises(KeyboardInterrupt):
        Scheduler(
            store, ScriptedExecutor(fails), watcher, interrupts=lambda: 2 * bool(watcher.points), finish_running=True
        ).run(sweep)
    (trial,) = store.trials(sweep)
    assert (trial.state, trial.reason) == (TrialState.PENDING, "interrupted")


def falls_to(losses: dict[int, float]) -> Script:
    """Ten points a trial, whose loss stays at the batch size's; a trial that is told to stop does so at its next."""

    def script(job: Job) -> list[Event]:
        trial, loss = job.trial_id, losses[job.config["batch_size"]]
        points: list[Event] = [Point(trial, n, 8 * n, n / 10, loss) for n in range(1, 11)]
        started = Started(trial, 0.5, {"steps": 10})
        return [Ready(1, [1], ["host"], {}), started, *points, Ended(trial, "completed", 10, 80, 1.0)]

    return script


class StoppingExecutor(ScriptedExecutor):
    """One that does stop jobs."""

    def stop(self, trial_id: str) -> None:
        if trial_id in self._playing:
            job, _ = self._playing[trial_id]
            self._playing[trial_id] = (job, deque([Ended(trial_id, "stopped", 5, 40, 0.5)]))


LOSSES = {8: 1.0, 16: 0.9, 32: 3.0, 64: 1.0}


@pytest.mark.parametrize("seats", [1, 2, 4])
@pytest.mark.parametrize("floor", [0.0, 0.9])
def test_what_can_win_no_more_is_pruned_and_the_winner_stays(store: Store, seats: int, floor: float) -> None:
    prune = {"method": "area", "floor": floor}
    objective = {"threshold": 2.0, "over": "images"}
    space = {"workers": [1], "batch_size": list(LOSSES)}
    trial = {"images": 80}
    spec = parse_spec({"name": "x", "trial": trial, "space": space, "prune": prune, "objective": objective})
    sweep = store.add_sweep(spec, plan(spec))
    record = store.find_sweep(sweep)
    guide = guide_for(record, store.trials(sweep), store.points)
    Scheduler(store, StoppingExecutor(falls_to(LOSSES), seats=seats), Watcher(), guide=guide).run(sweep)
    trials = {trial.config["batch_size"]: trial for trial in store.trials(sweep)}
    assert trials[16].state is TrialState.COMPLETED
    group = best_answer(store, sweep)["groups"][0]
    assert (group["winner"]["trial"], group["in_doubt"]) == (trials[16].id, [])
    if seats == 1:
        assert trials[32].state is TrialState.PRUNED
        assert trials[32].reason.startswith("its area will be ")
        assert len(store.points(trials[32].id)) == trials[32].points < 10
        assert trials[32].id in best_answer(store, sweep, threshold=0.5)["groups"][0]["in_doubt"]


def test_a_guide_learns_from_what_has_ended_before_and_elsewhere(store: Store) -> None:
    space = {"workers": [1], "batch_size": [16, 32]}
    spec = parse_spec({"name": "x", "space": space, "prune": "area", "objective": {"over": "images"}})
    sweep = store.add_sweep(spec, plan(spec))
    good, bad = store.trials(sweep)
    points = [LossPoint(n, 8 * n, n / 10, 0.9) for n in range(1, 11)]
    store.finish(good.id, store.claim(good.id) or 0, TrialState.COMPLETED, summarize(points))
    guide = guide_for(store.find_sweep(sweep), store.trials(sweep), store.points)
    Scheduler(store, StoppingExecutor(falls_to(LOSSES)), Watcher(), guide=guide).run(sweep)
    states = {trial.id: trial.state for trial in store.trials(sweep)}
    assert states == {good.id: TrialState.COMPLETED, bad.id: TrialState.PRUNED}


def repeated(store: Store, **others: Any) -> str:
    """Four batch sizes of three seeds each, to be pruned by their means."""
    space = {"workers": [1], "batch_size": list(LOSSES)}
    objective = {"threshold": 2.0, "over": "images"}
    written = {"name": "x", "trial": {"images": 80}, "space": space, "prune": "area", "objective": objective}
    spec = parse_spec({**written, "repeats": 3, **others})
    return store.add_sweep(spec, plan(spec))


def guided(store: Store, sweep: str) -> Guide:
    return guide_for(store.find_sweep(sweep), store.trials(sweep), store.points)


@pytest.mark.parametrize("seats", [1, 2, 5])
def test_of_a_setting_that_can_win_no_more_nothing_further_is_started(store: Store, seats: int) -> None:
    sweep = repeated(store)
    executor, watcher = StoppingExecutor(falls_to(LOSSES), seats=seats), Watcher()
    Scheduler(store, executor, watcher, guide=guided(store, sweep)).run(sweep)
    trials = store.trials(sweep)
    assert len(watcher.ended) == len(trials)
    best = [trial for trial in trials if trial.config["batch_size"] == 16]
    assert [trial.state for trial in best] == [TrialState.COMPLETED] * 3
    group = best_answer(store, sweep)["groups"][0]
    assert group["winner"]["trials"] == [trial.id for trial in best]
    assert group["in_doubt"] == []
    if seats == 1:
        given_up = [trial for trial in trials if trial.state is TrialState.PRUNED and not trial.attempt]
        assert given_up
        assert not {job.trial_id for job in executor.started} & {trial.id for trial in given_up}
        assert all(t.reason.startswith(("the mean area of its 3 seeds will be", "trial ")) for t in given_up)
        assert best_answer(store, sweep, threshold=5.0)["groups"][0]["winner"]["trial"] == best[0].id


def test_a_seed_that_diverges_or_does_not_qualify_takes_its_setting_along(store: Store) -> None:
    sweep = repeated(store, space={"workers": [1], "batch_size": [8, 32, 64]})

    def script(job: Job) -> list[Event]:
        return ends_as("diverged", math.nan)(job) if job.config["batch_size"] == 8 else falls_to(LOSSES)(job)

    Scheduler(store, StoppingExecutor(script, seats=1), Watcher(), guide=guided(store, sweep)).run(sweep)
    by_batch: dict[int, list[TrialRecord]] = {}
    for trial in store.trials(sweep):
        by_batch.setdefault(trial.config["batch_size"], []).append(trial)
    assert sorted(t.state for t in by_batch[8]) == [TrialState.DIVERGED, TrialState.PRUNED, TrialState.PRUNED]
    assert any(t.reason.endswith("another seed of its setting, diverged") for t in by_batch[8])
    assert [t.state for t in by_batch[64]] == [TrialState.COMPLETED] * 3
    looser = best_answer(store, sweep, threshold=4.0)["groups"][0]
    doubted = {t.id for t in by_batch[32] if t.state is TrialState.PRUNED}
    assert set(looser["in_doubt"]) <= doubted
    assert not doubted or all(t.id not in looser["in_doubt"] for t in by_batch[8])


def has_seen(watcher: Watcher, points: int) -> bool:
    return len(watcher.points) >= points


def test_after_an_interrupt_means_are_pruned_by_what_the_store_has(store: Store) -> None:
    sweep = repeated(store)
    watcher = Watcher()
    for points in (7, 19, 31, 43):
        with contextlib.suppress(KeyboardInterrupt):
            Scheduler(
                store,
                StoppingExecutor(falls_to(LOSSES)),
                watcher,
                guide=guided(store, sweep),
                interrupts=partial(has_seen, watcher, points),
            ).run(sweep)
    Scheduler(store, StoppingExecutor(falls_to(LOSSES)), watcher, guide=guided(store, sweep)).run(sweep)
    assert all(trial.state.ended for trial in store.trials(sweep))
    winner = best_answer(store, sweep)["groups"][0]["winner"]
    assert (winner["parameters"]["batch_size"], winner["repeats"]) == (16, 3)


def test_what_a_failed_attempt_had_come_to_does_not_count_against_its_setting(store: Store) -> None:
    """The first attempt at the best setting is far worse than all others, and does not come to its end."""

    def script(job: Job) -> list[Event]:
        if job.config["batch_size"] == 16 and job.attempt == 1:
            ready, started, *_ = falls_to(LOSSES)(job)
            high = [Point(job.trial_id, n, 8 * n, n / 10, 1.9) for n in range(1, 4)]
            return [ready, started, *high, Failed(job.trial_id, "no luck", None, "")]
        return falls_to(LOSSES)(job)

    for seats in (1, 3):
        again = repeated(store, name=f"seats {seats}", space={"workers": [1], "batch_size": [8, 16]})
        guide = guided(store, again)
        Scheduler(store, StoppingExecutor(script, seats=seats), Watcher(), guide=guide, retries=1).run(again)
        winner = best_answer(store, again)["groups"][0]["winner"]
        assert winner["parameters"]["batch_size"] == 16


def test_over_dollars_workers_are_weighed_where_they_compete(store: Store) -> None:
    """Two workers take seven tenths of the seconds of one, and cost twice as much each."""
    objective = {"threshold": 2.0, "over": "dollars", "group_by": ["batch_size"]}
    space = {"workers": [1, 2], "batch_size": [16]}
    resources = {"dollars_per_worker_hour": 36}
    sweep = repeated(store, space=space, objective=objective, resources=resources, repeats=1)

    def script(job: Job) -> list[Event]:
        pace = 1.0 if job.workers == 1 else 0.7
        return [replace(e, seconds=pace * e.seconds) if isinstance(e, Point) else e for e in falls_to(LOSSES)(job)]

    Scheduler(store, StoppingExecutor(script, seats=2), Watcher(), guide=guided(store, sweep)).run(sweep)
    one, two = store.trials(sweep)
    answer = best_answer(store, sweep)
    assert answer["groups"][0]["winner"]["trial"] == one.id
    assert answer["groups"][0]["winner"]["area"] == pytest.approx(0.9 * 0.9 * 0.01)
    assert two.state is TrialState.PRUNED


@pytest.mark.parametrize("seats", [1, 2])
def test_what_a_guide_proposes_is_added_when_nothing_waits_and_run(store: Store, seats: int) -> None:
    spaces = [{"batch_size": [16], "learning_rate": [rate], "workers": [1]} for rate in (0.1, 0.2, 0.3)]
    first, *more = [plan(parse_spec({"name": "s", "trial": {"images": 96}, "space": space})) for space in spaces]
    sweep_id = store.add_sweep(parse_spec({"name": "s", "trial": {"images": 96}, "space": spaces[0]}), first)
    ended: list[int] = []

    class Proposing(Guide):
        proposes = True

        def propose(self) -> Sequence[TrialSpec]:
            ended.append(sum(store.find_sweep(sweep_id).states.get(state, 0) for state in (TrialState.COMPLETED,)))
            return more.pop(0) if more else ()

    executor = ScriptedExecutor(seats=seats)
    Scheduler(store, executor, Watcher(), guide=Proposing()).run(sweep_id)
    assert [trial.state for trial in store.trials(sweep_id)] == [TrialState.COMPLETED] * 3
    assert executor.most_seats == seats
    assert ended[0] == (0 if seats == 2 else 1)  # with a seat free at once, without one when there is one


def test_nothing_is_proposed_once_a_sweep_is_to_be_stopped(store: Store) -> None:
    sweep_id = submit(store, workers=[1])
    more = plan(
        parse_spec(
            {
                "name": "s",
                "trial": {"images": 96},
                "space": {"batch_size": [16], "learning_rate": [0.7], "workers": [1]},
            }
        )
    )

    class Proposing(Guide):
        proposes = True

        def propose(self) -> Sequence[TrialSpec]:
            return more

    store.ask_to_stop(sweep_id)
    before = len(store.trials(sweep_id))
    Scheduler(store, ScriptedExecutor(), Watcher(), guide=Proposing()).run(sweep_id)
    assert len(store.trials(sweep_id)) == before


def test_what_is_added_while_it_runs_is_run_too(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[8])
    more = plan(parse_spec({"name": "more", "space": {"workers": [1], "batch_size": [8, 16, 32]}}))
    watcher = Watcher(at_point=lambda: store.extend(sweep, more))
    Scheduler(store, ScriptedExecutor(), watcher).run(sweep)
    assert [(t.state, t.attempt) for t in store.trials(sweep)] == [(TrialState.COMPLETED, 1)] * 3


def test_a_trial_that_was_given_to_another_is_stopped_here(store: Store) -> None:
    sweep = submit(store, workers=[1])
    (trial,) = store.trials(sweep)
    stopped: list[str] = []

    class Stoppable(ScriptedExecutor):
        def stop(self, trial_id: str) -> None:
            stopped.append(trial_id)

    other = store.add_scheduler("another machine", "1 0")

    def take_over() -> None:
        if len(watcher.points) == 1:
            store.release(trial.id, 1, "its lease ran out")
            assert store.claim(trial.id, scheduler_id=other) == 2
        if len(watcher.points) == 3:
            store.finish(trial.id, 2, TrialState.COMPLETED, summarize([]))

    watcher = Watcher(at_point=take_over)
    Scheduler(store, Stoppable(), watcher, TickingClock(step=6.0)).run(sweep)
    assert stopped
    assert set(stopped) == {trial.id}
    assert [(t.state, t.attempt) for t in store.trials(sweep)] == [(TrialState.COMPLETED, 2)]


def test_a_trial_that_fails_in_a_sweep_that_is_being_stopped_is_not_tried_again(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[8, 16])
    watcher = Watcher(at_point=lambda: store.ask_to_stop(sweep))
    Scheduler(store, ScriptedExecutor(fails, seats=1), watcher, retries=5).run(sweep)
    assert sorted(t.state for t in store.trials(sweep)) == [TrialState.CANCELLED, TrialState.FAILED]


def test_an_end_that_comes_after_the_trial_was_given_to_another_does_not_count(store: Store) -> None:
    sweep = submit(store, workers=[1])
    (trial,) = store.trials(sweep)

    def take_over() -> None:
        if len(watcher.points) < 3:
            return
        store.release(trial.id, 1, "its lease ran out")
        assert store.claim(trial.id) == 2
        store.finish(trial.id, 2, TrialState.DIVERGED, summarize([]))

    watcher = Watcher(at_point=take_over)
    Scheduler(store, ScriptedExecutor(), watcher).run(sweep)
    assert [(t.state, t.attempt) for t in store.trials(sweep)] == [(TrialState.DIVERGED, 2)]
    assert not watcher.ended


def test_a_claim_that_was_recorded_unbeknown_is_given_back_and_run(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[16, 32])
    last = store.trials(sweep)[1]

    class Forgetful(Watcher):
        def trial_started(self, trial: TrialRecord) -> None:
            if not self.started:
                store.claim(last.id, scheduler_id=trial.scheduler_id)
            super().trial_started(trial)

    Scheduler(store, ScriptedExecutor(), Forgetful(), TickingClock()).run(sweep)
    assert [(t.state, t.attempt) for t in store.trials(sweep)] == [(TrialState.COMPLETED, 1), (TrialState.COMPLETED, 2)]


@pytest.mark.parametrize("given_away", [False, True])
def test_a_stopped_trials_checkpoints_go_unless_another_runs_it(
    store: Store, given_away: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWEEPER_LOGS", str(tmp_path))
    sweep = submit(store, workers=[1])
    (trial,) = store.trials(sweep)
    folder = checkpoints_folder(trial.id)
    folder.mkdir(parents=True)

    def give_away() -> None:
        if given_away and len(watcher.points) == 3:
            store.release(trial.id, 1, "its lease ran out")
            assert store.claim(trial.id) == 2
            store.finish(trial.id, 2, TrialState.COMPLETED, summarize([]))

    watcher = Watcher(at_point=give_away)
    Scheduler(store, ScriptedExecutor(ends_as("stopped", 1.0)), watcher).run(sweep)
    assert folder.exists() == given_away


def test_a_wish_to_stop_reaches_what_runs(store: Store) -> None:
    sweep = submit(store, workers=[1], batch_size=[8, 16, 32])
    stopped: list[str] = []

    class Stoppable(ScriptedExecutor):
        def stop(self, trial_id: str) -> None:
            stopped.append(trial_id)
            job, _ = self._playing[trial_id]
            self._playing[trial_id] = (job, deque([Ended(trial_id, "stopped", 1, 32, 0.1)]))

    watcher = Watcher(at_point=lambda: len(watcher.points) == 1 and store.ask_to_stop(sweep))
    Scheduler(store, Stoppable(seats=1), watcher, TickingClock()).run(sweep)
    assert [t.state for t in store.trials(sweep)] == [TrialState.CANCELLED] * 3
    assert stopped == [store.trials(sweep)[0].id]


def test_a_store_that_refuses_ends_the_gangs_and_is_told(store: Store) -> None:
    sweep = submit(store, workers=[1])
    executor = ScriptedExecutor()

    def refuse(*_: object, **__: object) -> None:
        raise StoreError("store: disk is full", "make room")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "finish", refuse)
        with pytest.raises(StoreError, match="disk is full"):
            Scheduler(store, executor, Watcher()).run(sweep)
    assert executor.closed
    assert [t.state for t in store.trials(sweep)] == [TrialState.PENDING]
