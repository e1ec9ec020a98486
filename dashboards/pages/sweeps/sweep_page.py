"""A sweep's page: how far it is, who leads, and places for its figures."""

from __future__ import annotations

import math
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import RedirectResponse, Response

from dashboards.figures import FIGURES
from dashboards.pages.kept_tables import Tables
from dashboards.pages.rendering import show
from dashboards.pages.sweeps.best_table import best_table
from dashboards.pages.sweeps.sweep_list import shares
from dashboards.pages.view import View, view_of
from dashboards.responses.json_answers import JsonAnswer
from sweeper.answers.certainty_words import question_words
from sweeper.answers.cost import bill
from sweeper.answers.numbers import dollars
from sweeper.answers.progress import mark_of
from sweeper.spec import OVER
from sweeper.spec.axes import WORKERS
from sweeper.store import Store, SweepRecord

Looked = Annotated[View, Depends(view_of)]


def routes(store: Store, tables: Tables) -> APIRouter:
    """The page, and what its script asks for anew."""
    routes = APIRouter()

    @routes.get("/sweeps")
    def by_reference(reference: Annotated[str, Query(max_length=300)]) -> Response:
        """For names that cannot stand in a path, such as those with a slash."""
        return RedirectResponse(f"/sweeps/{store.sweeps.find(reference).id}")

    @routes.get("/sweeps/{reference}")
    def sweep_page(reference: str, view: Looked) -> Response:
        sweep = store.sweeps.find(reference)
        rate = sweep.spec.rate if view.rate is None else view.rate
        answer = tables.best(sweep, view) if sweep.trials else None
        losses = store.views.loss_range(sweep.id)
        return show(
            "sweep.html",
            sweep=sweep,
            view=view,
            rate=rate,
            over=view.over or sweep.over,
            axes=OVER,
            changed=mark_of(sweep),
            shares=shares(sweep.states, sweep.total),
            threshold=sweep.threshold if view.threshold is None else view.threshold,
            span=_span(losses, sweep.threshold),
            best=best_table(answer, _options(sweep, view)) if answer else None,
            figures=[one for one in FIGURES.values() if not one.compares and one.suits(sweep)],
            live=not sweep.state.over,
            problem=submission.problem if (submission := store.submissions.of(sweep.id)) else None,
        )

    @routes.get("/sweeps/{reference}/best.json")
    def best(reference: str, view: Looked, sure: bool = False) -> Response:
        """With `sure` it says what is recommended, too, which may take seconds."""
        find = tables.recommended if sure else tables.best
        sweep = store.sweeps.find(reference)
        return JsonAnswer(best_table(find(sweep, view), _options(sweep, view)))

    @routes.get("/sweeps/{reference}/cost.json")
    def cost(reference: str, view: Looked) -> Response:
        sweep = store.sweeps.find(reference)
        rate = sweep.spec.rate if view.rate is None else view.rate
        return JsonAnswer({"dollars": None if rate is None else dollars(bill_of(store, sweep, rate))})

    return routes


def _options(sweep: SweepRecord, view: View) -> str | None:
    """Those with which `sweeper extend` means what is looked at; None where it cannot add to the sweep."""
    if sweep.spec.written is None or view.oversubscribed:
        return None
    return "".join(f" {word}" for word in question_words(threshold=view.threshold, over=view.over))


def bill_of(store: Store, sweep: SweepRecord, rate: float) -> float:
    """What a sweep has cost so far, as `sweeper show` says: all attempts with their start-up and evaluations."""
    trials = [(one.trial, one.parameters[WORKERS], one.seconds) for one in store.trials.candidates(sweep.id, "seconds")]
    return math.fsum(bill(store, sweep, trials, rate).values())


def _span(losses: tuple[float, float] | None, threshold: float | None) -> dict[str, float] | None:
    """Ends and step of the threshold's slider: all minimum losses, and the sweep's own threshold."""
    known = [*(losses or ()), *([threshold] if threshold is not None else [])]
    known = [value for value in known if math.isfinite(value)]
    if not known:
        return None
    low, high = min(known), max(known)
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    step = 10.0 ** math.floor(math.log10((high - low + 2 * margin) / 200))
    low, high = math.floor((low - margin) / step) * step, math.ceil((high + margin) / step) * step
    return {"low": float(f"{low:.10g}"), "high": float(f"{high:.10g}"), "step": float(f"{step:.10g}")}
