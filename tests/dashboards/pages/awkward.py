"""A sweep in which everything happens that pages have to show."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path

from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import parse_spec
from sweeper.store import EvaluationRecord, GangRecord, Printed, Store, SweepRecord, TrialRecord

NAME = '实验 #1/日本 "x" <b>'
HOSTILE = "<script>document.title='taken'</script>"


def awkward(store: Store, folder: Path) -> SweepRecord:
    """Two worker counts, four dimensions: complete, diverged, pruned, failed, derived, running and waiting trials."""
    spec = parse_spec(
        {
            "name": NAME,
            "trial": {"model": "neuron", "data": "step-function", "images": 6400},
            "space": {
                "batch_size": [16, 32],
                "learning_rate": [0.1, 0.4, 0.8],
                "workers": [1, 2],
                "exchange.average": ["gradients", "weights"],
            },
            "objective": {"threshold": 1.0},
            "resources": {"dollars_per_worker_hour": 2.5},
        }
    )
    sweep = store.sweeps.add(spec, plan(spec))
    log = folder / "0123abcd" / "0123abcd-456789ab-1.log"
    log.parent.mkdir(exist_ok=True)
    log.write_text(f"rank 0: {HOSTILE}\n" * 3)
    trials = store.trials.of(sweep)
    for number, trial in enumerate(trials):
        if number < len(trials) - 1:
            _run(store, trial, number, trials[0].id, log)
    return store.sweeps.find(sweep)


def points(trial: TrialRecord, count: int = 60) -> list[LossPoint]:
    """A curve that falls the faster the larger the rate is; on a single worker the largest one diverges."""
    rate = trial.parameters["learning_rate"]
    fails = trial.workers == 1 and rate == 0.8
    return [
        LossPoint(
            step=step,
            images=100 * step,
            seconds=step / trial.workers,
            loss=math.nan if fails and step > 30 else math.inf if fails and step == 30 else 0.5 + 2 * rate**step + rate,
        )
        for step in range(1, count + 1)
    ]


def begin(store: Store, trial: TrialRecord, log: Path) -> int:
    """Claim a trial, on a gang of its own."""
    attempt = store.attempts.claim(trial.id, scheduler_id=store.leases.begin("node-1", "process"))
    assert attempt is not None
    ranks = trial.workers
    gang = GangRecord(
        f"g-{trial.id}", trial.sweep_id, ranks, ["node-1"] * ranks, [1] * ranks, {"torch": "2.9"}, datetime.now(UTC)
    )
    store.attempts.assign_gang(trial.id, attempt, gang, str(log))
    store.attempts.start(trial.id, attempt, 0.4, 0.1, {"batch_size": trial.parameters["batch_size"], "device": "cpu"})
    return attempt


def _run(store: Store, trial: TrialRecord, number: int, first: str, log: Path) -> None:
    attempt = begin(store, trial, log)
    curve = points(trial)
    if number == 9:
        reason = f"rank 1 was killed {HOSTILE}"
        traceback, printed = f"Error: {HOSTILE}", Printed(HOSTILE, 7)
        store.attempts.finish(
            trial.id, attempt, TrialState.FAILED, summarize([]), reason=reason, traceback=traceback, printed=printed
        )
        return
    pruned = number == 7
    curve = curve[:20] if pruned or number == 22 else curve
    store.attempts.add_points(trial.id, attempt, curve)
    if number == 22:
        return
    summary = summarize(curve)
    state = TrialState.PRUNED if pruned else TrialState.COMPLETED if summary.finite else TrialState.DIVERGED
    for point in curve[::20]:
        store.attempts.add_evaluation(
            trial.id, attempt, EvaluationRecord(point.step, point.images or 0, point.seconds, 1.0, 0.5)
        )
    store.attempts.finish(
        trial.id,
        attempt,
        state,
        summary,
        reason=f"its area exceeds that of trial {first}" if pruned else "",
        phases={"compute": 3.0, "gather": 1.0},
        derived_from=first if number == 4 else None,
    )
