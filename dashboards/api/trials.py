"""Trials: what was asked for, what was done, and the curve."""

from __future__ import annotations

import math
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from dashboards.api import documented
from dashboards.api.documented import errors
from dashboards.responses.json_answers import JsonAnswer
from sweeper.answers.printed import printed_answer
from sweeper.answers.sweeps import trial_answer
from sweeper.store import AttemptRecord, Store, per_step

Id = Annotated[str, Path(description="A trial's id.")]
Number = Annotated[int | None, Query(ge=1, le=1_000_000, description="By default the latest.")]


def routes(store: Store) -> APIRouter:
    """The routes of trials."""
    routes = APIRouter(tags=["trials"], default_response_class=JsonAnswer)

    @routes.get("/trials/{trial}", response_model=documented.TrialAnswer, responses=errors())
    def show_trial(trial: Id) -> Response:
        """A trial: its settings as requested and as they took effect, its result, its attempts."""
        found = store.trials.find(trial)
        attempts = [
            _attempt(one, store.attempts.phases(found.id, one.number), found.steps_of(one))
            for one in store.attempts.of(found.id)
        ]
        answer = {**trial_answer(found), "sweep": found.sweep_id, "config": found.config, "resources": found.resources}
        return JsonAnswer({**answer, "attempts": attempts})

    @routes.get("/trials/{trial}/curve", response_model=documented.CurveAnswer, responses=errors())
    def curve_of_trial(trial: Id, attempt: Number = None) -> Response:
        """All loss points of an attempt."""
        found = store.trials.find(trial)
        number = found.attempt if attempt is None else attempt
        points = store.attempts.points(found.id, number)
        return JsonAnswer(
            {
                "trial": found.id,
                "attempt": number,
                "points": [[p.step, p.images, p.seconds, p.loss] for p in points],
                "not_finite": {str(p.step): str(p.loss) for p in points if not math.isfinite(p.loss)},
            }
        )

    @routes.get("/trials/{trial}/log", response_model=documented.PrintedAnswer, responses=errors())
    def log_of_trial(trial: Id, attempt: Number = None) -> Response:
        """What the ranks of an attempt that has ended printed."""
        return JsonAnswer(printed_answer(store, trial, attempt))

    return routes


def _attempt(attempt: AttemptRecord, phases: dict[str, float], steps: int | None) -> dict[str, Any]:
    return {
        "attempt": attempt.number,
        "state": attempt.state,
        "reason": attempt.reason,
        "traceback": attempt.traceback,
        "gang": attempt.gang_id,
        "log": attempt.log,
        "effective": attempt.effective,
        "startup_seconds": attempt.startup_seconds,
        "setup_seconds": attempt.setup_seconds,
        "phases": phases,
        "phases_per_step": per_step(phases, steps),
        "started_at": attempt.started_at.isoformat(),
        "ended_at": attempt.ended_at.isoformat() if attempt.ended_at else None,
    }
