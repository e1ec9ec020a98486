"""A trial's page: what was asked for, what was done, what came of it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from dashboards.pages.rendering import show
from dashboards.pages.trials.log_tail import Tail, printed_tail
from sweeper.answers.one_trial import attempt_answer, flat
from sweeper.ranking.curve import LossPoint
from sweeper.store import AttemptRecord, GangRecord, Store

_TRIAL = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4,}\b")
_MOST_FAULTS = 20


def routes(store: Store) -> APIRouter:
    """The page of one trial."""
    routes = APIRouter()

    @routes.get("/trials/{trial_id}")
    def trial_page(trial_id: str) -> Response:
        trial = store.trials.find(trial_id)
        sweep = store.sweeps.find(trial.sweep_id)
        points = store.attempts.points(trial.id)
        own = sweep.origin == "run"
        gangs = {gang.id: gang for gang in store.attempts.gangs(sweep.id)}
        attempts = [
            _attempt(
                one,
                gangs.get(one.gang_id or ""),
                store.attempts.phases(trial.id, one.number),
                trial.steps_of(one),
                # What an import names as its log is a file of wherever it was imported.
                printed_tail(one if own else replace(one, log=""), store.attempts.printed(trial.id, one.number)),
            )
            for one in reversed(store.attempts.of(trial.id))
        ]
        effective: dict[str, Any] = next(
            (one["effective"] for one in attempts if one["number"] == trial.result_attempt), {}
        )
        return show(
            "trial.html",
            sweep=sweep,
            trial=trial,
            settings=_side_by_side(flat(trial.config), flat(effective)),
            resources=flat(trial.resources),
            attempts=attempts,
            reason=_linked(trial.reason, trial.id),
            faults=_faults(points),
            evaluations=store.attempts.evaluations(trial.id),
        )

    return routes


def _side_by_side(asked: Mapping[str, Any], done: Mapping[str, Any]) -> list[tuple[str, Any, Any, bool]]:
    """Each setting as requested and as it took effect, and whether that is another value than one that was given."""
    names = dict.fromkeys([*asked, *done])
    return [
        (
            name,
            asked.get(name),
            done.get(name),
            asked.get(name) is not None and done.get(name, asked[name]) != asked[name],
        )
        for name in names
    ]


def _attempt(
    attempt: AttemptRecord, gang: GangRecord | None, phases: Mapping[str, float], steps: int | None, log: Tail | None
) -> dict[str, Any]:
    return {
        **attempt_answer(attempt, gang, phases, steps),
        "reason": _linked(attempt.reason, attempt.trial_id),
        "started_at": attempt.started_at,
        "phases": sorted(phases.items(), key=lambda phase: -phase[1]),
        "log": log,
    }


def _linked(words: str, own: str) -> list[tuple[str, str]]:
    """A text in pieces, each with the trial that it names, if any."""
    pieces, at = [], 0
    for found in _TRIAL.finditer(words):
        pieces += [(words[at : found.start()], ""), (found[0], found[0] if found[0] != own else "")]
        at = found.end()
    return [piece for piece in [*pieces, (words[at:], "")] if piece[0]]


def _faults(points: Sequence[LossPoint]) -> dict[str, Any]:
    """The loss points that are not finite: how many, of how many, and the first of them."""
    found = [point for point in points if not math.isfinite(point.loss)]
    return {"count": len(found), "points": len(points), "first": found[:_MOST_FAULTS]}
