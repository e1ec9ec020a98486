"""Sweeps with everything in them that can be recorded, and what is hard to keep."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from sweeper.guides.samplers import first_points
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import parse_spec
from sweeper.store import EvaluationRecord, GangRecord, Printed, Store
from sweeper.store.archived import ArchivedTrial
from sweeper.store.archives import read_archive

NAME = '实验 #1/日本 "x" <b>'
BEGIN = datetime(2026, 3, 1, 12, 30, 15, 123457, tzinfo=UTC)
SPEC = {
    "name": NAME,
    "trial": {"images": 640},
    "space": {
        "batch_size": [16, 32],
        "learning_rate": [0.1, 1 / 3],
        "workers": [1, 2],
        "exchange.method": ["parameter-server", "all-reduce"],
    },
    "objective": {"threshold": 1.5},
}
CURVES: list[list[LossPoint]] = [
    [LossPoint(1, 16, 0.1 + 0.2, 2.5), LossPoint(2, 32, 0.7, 1 / 3), LossPoint(7, 2**40, 1e9 / 7, 5e-324)],
    [LossPoint(1, 16, 0.0, 1.7976931348623157e308), LossPoint(2**40, 2**53 + 1, 1e-300, 0.0)],
    [LossPoint(1, None, math.nan, 2.0), LossPoint(2, None, math.nan, math.nan), LossPoint(3, None, math.nan, math.inf)],
    [LossPoint(1, 16, 0.5, -math.inf), LossPoint(3, 48, 0.75, math.nan)],
    [LossPoint(1, 16, 0.5, 2.0)],
    [],
]


def fill(store: Store, name: str = NAME) -> str:
    """A sweep with trials in every state; its id."""
    spec = parse_spec({**SPEC, "name": name})
    sweep = store.sweeps.add(spec, plan(spec, first_points))
    trials = store.trials.of(sweep)
    for index, trial in enumerate(trials[:13]):
        gang = GangRecord(
            f"{sweep}-g{index}",
            sweep,
            trial.workers,
            ["a #1", "b"],
            [1, 2**31 - 1],
            {"torch": "2"},
            BEGIN + timedelta(seconds=index),
        )
        _attempt(store, trial.id, 1, CURVES[(index + 1) % 6], gang, evaluated=False)
        if index % 2:
            traceback, printed = "Traceback:\n  line, 'x'\n日本", Printed('# "rank 0",\r\n\x1b[1m日本\n', 2**33)
            store.attempts.release(trial.id, 1, 'lost, "again"\n# no comment', traceback=traceback, printed=printed)
            _attempt(store, trial.id, 2, CURVES[index % 6], gang, evaluated=True)
        _end(store, trial.id, 1 + index % 2, index, trials[0].id)
    store.attempts.give_up(trials[13].id, "cannot win any more")
    return sweep


def _attempt(
    store: Store, trial: str, number: int, points: Sequence[LossPoint], gang: GangRecord, *, evaluated: bool
) -> None:
    store.attempts.claim(trial, log=lambda attempt: f"/logs/日本/{attempt}.log")
    store.attempts.assign_gang(trial, number, gang, "/logs/#.log", oversubscribed=number == 2)
    store.attempts.start(trial, number, 0.1, 1 / 3, {"device": "cpu", "batch": [16, 16], "odd": None, "x": 1e-7})
    store.attempts.add_points(trial, number, points)
    if evaluated:
        store.attempts.add_evaluation(trial, number, EvaluationRecord(1, 16, 0.5, math.nan, 0.1))
        store.attempts.add_evaluation(trial, number, EvaluationRecord(3, None, math.nan, 0.5, math.nan))
        store.attempts.add_evaluation(trial, number, EvaluationRecord(2, 2**53 + 1, 2 / 3, math.inf, 1 / 3))


def _end(store: Store, trial: str, attempt: int, index: int, other: str) -> None:
    states = (TrialState.COMPLETED, TrialState.DIVERGED, TrialState.PRUNED, TrialState.FAILED, TrialState.CANCELLED)
    if index == 12:
        return  # it runs
    points = store.attempts.points(trial, attempt)
    summary, phases = summarize(points), {"compute": 1 / 7, "gather #2": 0.0}
    state = TrialState.DIVERGED if not summary.finite else states[index % 5]
    derived = other if index == 7 else None
    store.attempts.finish(
        trial,
        attempt,
        state,
        summary,
        reason=f"because\nof {index}",
        phases=phases,
        derived_from=derived,
        printed=Printed(f"of {index}") if index % 3 else None,
    )


def plain(points: int = 3) -> Iterator[LossPoint]:
    """A curve that falls."""
    return (LossPoint(step, 16 * step, step / 2, 2.0 / step) for step in range(1, points + 1))


def told(store: Store, sweep_id: str) -> list[str]:
    """All that a store holds of a sweep, each part as text that has every bit of every number."""
    archive = read_archive(store, sweep_id)
    trials: list[ArchivedTrial] = list(archive.read())
    return [repr(archive.sweep), *map(repr, trials)]
