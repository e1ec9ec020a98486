"""The list of sweeps, page by page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from dashboards.pages.rendering import show
from dashboards.pages.sweeps.leaders import Leaders
from dashboards.responses.paging import Paging
from sweeper.plan.trial import TrialState
from sweeper.store import Store

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
            sweeps=[(sweep, shares(sweep.states, sweep.total), leaders.of(sweep)) for sweep in shown],
        )

    return routes


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
