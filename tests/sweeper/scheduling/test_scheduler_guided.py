"""The scheduler as guides have it decide: order, pruning, proposals; on an executor that is told what happens."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from engine.protocol import Ended, Event, Failed, Point, Ready, Started
from sweeper.answers.best import best_answer
from sweeper.gangs.base import Job
from sweeper.guides import Guide, guide_for
from sweeper.guides.base import GuideAround
from sweeper.plan import plan
from sweeper.plan.trial import TrialSpec, TrialState
from sweeper.ranking import Candidate
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.scheduling.scheduler import Scheduler
from sweeper.spec import parse_spec
from sweeper.store import Store, TrialRecord
from tests.sweeper.scheduling.scripted import (
    Script,
    ScriptedExecutor,
    StoppingExecutor,
    Watcher,
    ends_as,
    has_seen,
    submit,
)


def falls_to(losses: dict[int, float]) -> Script:
    """Ten points a trial, whose loss stays at the batch size's; a trial that is told to stop does so at its next."""

    def script(job: Job) -> list[Event]:
        trial, loss = job.trial_id, losses[job.config["batch_size"]]
        points: list[Event] = [Point(trial, n, 8 * n, n / 10, loss) for n in range(1, 11)]
        started = Started(trial, 0.5, {"steps": 10})
        return [Ready(1, [1], ["host"], {}), started, *points, Ended(trial, "completed", 10, 80, 1.0)]

    return script


LOSSES = {8: 1.0, 16: 0.9, 32: 3.0, 64: 1.0}


@pytest.mark.parametrize("seats", [1, 2, 4])
@pytest.mark.parametrize("floor", [0.0, 0.9])
def test_what_can_win_no_more_is_pruned_and_the_winner_stays(store: Store, seats: int, floor: float) -> None:
    prune = {"method": "area", "floor": floor}
    objective = {"threshold": 2.0, "over": "images"}
    space = {"workers": [1], "batch_size": list(LOSSES)}
    trial = {"images": 80}
    spec = parse_spec({"name": "x", "trial": trial, "space": space, "prune": prune, "objective": objective})
    sweep = store.sweeps.add(spec, plan(spec))
    record = store.sweeps.find(sweep)
    guide = guide_for(record, store.trials.of(sweep), store.attempts.points)
    Scheduler(store, StoppingExecutor(falls_to(LOSSES), seats=seats), Watcher(), guide=guide).run(sweep)
    trials = {trial.config["batch_size"]: trial for trial in store.trials.of(sweep)}
    assert trials[16].state is TrialState.COMPLETED
    group = best_answer(store, sweep)["groups"][0]
    assert (group["winner"]["trial"], group["in_doubt"]) == (trials[16].id, [])
    if seats == 1:
        assert trials[32].state is TrialState.PRUNED
        assert trials[32].reason.startswith("its area will be ")
        assert len(store.attempts.points(trials[32].id)) == trials[32].points < 10
        assert trials[32].id in best_answer(store, sweep, threshold=0.5)["groups"][0]["in_doubt"]


def test_a_guide_learns_from_what_has_ended_before_and_elsewhere(store: Store) -> None:
    space = {"workers": [1], "batch_size": [16, 32]}
    spec = parse_spec({"name": "x", "space": space, "prune": "area", "objective": {"over": "images"}})
    sweep = store.sweeps.add(spec, plan(spec))
    good, bad = store.trials.of(sweep)
    points = [LossPoint(n, 8 * n, n / 10, 0.9) for n in range(1, 11)]
    store.attempts.finish(good.id, store.attempts.claim(good.id) or 0, TrialState.COMPLETED, summarize(points))
    guide = guide_for(store.sweeps.find(sweep), store.trials.of(sweep), store.attempts.points)
    Scheduler(store, StoppingExecutor(falls_to(LOSSES)), Watcher(), guide=guide).run(sweep)
    states = {trial.id: trial.state for trial in store.trials.of(sweep)}
    assert states == {good.id: TrialState.COMPLETED, bad.id: TrialState.PRUNED}


def repeated(store: Store, **others: Any) -> str:
    """Four batch sizes of three seeds each, to be pruned by their means."""
    space = {"workers": [1], "batch_size": list(LOSSES)}
    objective = {"threshold": 2.0, "over": "images"}
    written = {"name": "x", "trial": {"images": 80}, "space": space, "prune": "area", "objective": objective}
    spec = parse_spec({**written, "repeats": 3, **others})
    return store.sweeps.add(spec, plan(spec))


def guided(store: Store, sweep: str) -> Guide:
    return guide_for(store.sweeps.find(sweep), store.trials.of(sweep), store.attempts.points)


@pytest.mark.parametrize("seats", [1, 2, 5])
def test_of_a_setting_that_can_win_no_more_nothing_further_is_started(store: Store, seats: int) -> None:
    sweep = repeated(store)
    executor, watcher = StoppingExecutor(falls_to(LOSSES), seats=seats), Watcher()
    Scheduler(store, executor, watcher, guide=guided(store, sweep)).run(sweep)
    trials = store.trials.of(sweep)
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
    for trial in store.trials.of(sweep):
        by_batch.setdefault(trial.config["batch_size"], []).append(trial)
    assert sorted(t.state for t in by_batch[8]) == [TrialState.DIVERGED, TrialState.PRUNED, TrialState.PRUNED]
    assert any(t.reason.endswith("another seed of its setting, diverged") for t in by_batch[8])
    assert [t.state for t in by_batch[64]] == [TrialState.COMPLETED] * 3
    looser = best_answer(store, sweep, threshold=4.0)["groups"][0]
    doubted = {t.id for t in by_batch[32] if t.state is TrialState.PRUNED}
    assert set(looser["in_doubt"]) <= doubted
    assert not doubted or all(t.id not in looser["in_doubt"] for t in by_batch[8])


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
    assert all(trial.state.ended for trial in store.trials.of(sweep))
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
    one, two = store.trials.of(sweep)
    answer = best_answer(store, sweep)
    assert answer["groups"][0]["winner"]["trial"] == one.id
    assert answer["groups"][0]["winner"]["area"] == pytest.approx(1.0 * 0.9 * 0.01)
    assert two.state is TrialState.PRUNED


@pytest.mark.parametrize("seats", [1, 2])
def test_what_a_guide_proposes_is_added_when_nothing_waits_and_run(store: Store, seats: int) -> None:
    spaces = [{"batch_size": [16], "learning_rate": [rate], "workers": [1]} for rate in (0.1, 0.2, 0.3)]
    first, *more = [plan(parse_spec({"name": "s", "trial": {"images": 96}, "space": space})) for space in spaces]
    sweep_id = store.sweeps.add(parse_spec({"name": "s", "trial": {"images": 96}, "space": spaces[0]}), first)
    ended: list[int] = []

    class Proposing(Guide):
        proposes = True

        def propose(self) -> Sequence[TrialSpec]:
            ended.append(sum(store.sweeps.find(sweep_id).states.get(state, 0) for state in (TrialState.COMPLETED,)))
            return more.pop(0) if more else ()

    executor = ScriptedExecutor(seats=seats)
    Scheduler(store, executor, Watcher(), guide=Proposing()).run(sweep_id)
    assert [trial.state for trial in store.trials.of(sweep_id)] == [TrialState.COMPLETED] * 3
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

    store.sweeps.ask_to_stop(sweep_id)
    before = len(store.trials.of(sweep_id))
    Scheduler(store, ScriptedExecutor(), Watcher(), guide=Proposing()).run(sweep_id)
    assert len(store.trials.of(sweep_id)) == before


def shared_and_repeated(store: Store, repeats: int) -> tuple[str, list[TrialRecord]]:
    """A good and a bad batch size that have all their results, of which the last one is to be repeated."""
    sweep = repeated(store, space={"workers": [1], "batch_size": [16, 32]}, repeats=repeats)
    objective = {16: 0.9, 32: 1.9}
    for trial in store.trials.of(sweep):
        points = [LossPoint(n, 8 * n, n / 10, objective[trial.config["batch_size"]]) for n in range(1, 11)]
        attempt = store.attempts.claim(trial.id) or 0
        store.attempts.add_points(trial.id, attempt, points)
        store.attempts.finish(trial.id, attempt, TrialState.COMPLETED, summarize(points), oversubscribed=True)
    before = store.trials.of(sweep)
    last = max(before, key=lambda trial: (trial.config["batch_size"], trial.position))
    assert store.sweeps.repeat(sweep, [last.id]) == [last.id]
    return sweep, [trial for trial in before if trial.id != last.id] + [last]


@pytest.mark.parametrize(
    ("repeats", "started", "why"),
    [(1, 1, "repetition pruned, its area will be "), (2, 0, "not repeated, the mean area of its 2 seeds will be ")],
    ids=["pruned", "given up"],
)
def test_a_repetition_that_can_win_no_more_leaves_the_result_and_says_so(
    store: Store, repeats: int, started: int, why: str
) -> None:
    sweep, before = shared_and_repeated(store, repeats)
    told: list[str] = []

    class Listening(GuideAround):
        def learn(self, candidates: Iterable[Candidate]) -> None:
            candidates = list(candidates)
            told.extend(str(one.state) for one in candidates if one.trial == before[-1].id)
            super().learn(candidates)

    executor, watcher = StoppingExecutor(falls_to({16: 0.9, 32: 1.9}), seats=1), Watcher()
    guide = Listening(guided(store, sweep), "images")
    Scheduler(store, executor, watcher, guide=guide).run(sweep)
    assert len(executor.started) == started
    assert sorted(store.trials.of(sweep), key=lambda t: t.id) == sorted(before, key=lambda t: t.id)
    ((kept, words),) = watcher.kept
    assert (kept, watcher.ended, told[-1]) == (before[-1], [], "completed")
    assert words.startswith(why)
