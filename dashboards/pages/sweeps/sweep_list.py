"""The list of sweeps, page by page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from dashboards.figures.words.numbers import parameter_words
from dashboards.pages.rendering import show
from dashboards.pages.sweeps.leaders import Leaders
from dashboards.responses.paging import Paging
from sweeper.plan.trial import TrialState
from sweeper.ranking.cost import stored_axis
from sweeper.store import Store, SweepRecord

_PER_PAGE = 20


def routes(store: Store) -> APIRouter:
    """The first page."""
    routes = APIRouter()
    leaders = Leaders(store)

    @routes.get("/")
    def sweeps(page: Annotated[int, Query(ge=1, le=1_000_000)] = 1) -> Response:
        found = store.sweeps.all()
        paging = Paging(page, len(found), _PER_PAGE)
        shown = found[paging.first : paging.first + _PER_PAGE]
        return show(
            "sweeps.html",
            store=store.name,
            paging=paging,
            sweeps=[
                (
                    sweep,
                    shares(sweep.states, sweep.total),
                    found,
                    "" if found or found is None else why_none(store, sweep),
                )
                for sweep in shown
                for found in [leaders.of(sweep)]
            ],
        )

    return routes


def why_none(store: Store, sweep: SweepRecord) -> str:
    """Why no trial of a sweep leads, in a sentence."""
    by_time = stored_axis(sweep.over) == "seconds"
    if by_time and (shared := store.views.oversubscribed(sweep.id)):
        return f"{shared} of its trials shared cores or GPUs, and are not ranked over {sweep.over}."
    by = "" if sweep.threshold is None else f" by threshold {parameter_words(sweep.threshold)}"
    return f"No trial has qualified{by}."


def shares(states: Mapping[TrialState, int], total: int) -> list[tuple[str, int, float]]:
    """Each state that occurs with its trials and their percentage, in the order of a trial's life."""
    return [(state.value, states[state], 100 * states[state] / (total or 1)) for state in _ORDER if states.get(state)]


_ORDER = (
    TrialState.COMPLETED,
    TrialState.PRUNED,
    TrialState.DIVERGED,
    TrialState.FAILED,
    TrialState.CANCELLED,
    TrialState.RUNNING,
    TrialState.PENDING,
)
