"""The trials of a sweep: those of a cell or a state, sorted, page by page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import RedirectResponse, Response

from dashboards.pages.rendering import show
from dashboards.pages.view import MOST_CURVES, View, view_of
from dashboards.responses.paging import Paging
from sweeper.plan.trial import TrialState
from sweeper.spec.axes import WORKERS
from sweeper.store import Store
from sweeper.store.views import ORDERS

_PER_PAGE = 50
_OWN = {"state", "page", "order", "descending", "threshold", "over", "dollars_per_worker_hour", "oversubscribed"}
_OWN |= {"section", "trials"}
Order = Literal["plan", "workers", "state", "area", "minimum_loss", "seconds", "images"]
assert set(ORDERS) == set(Order.__args__)  # type: ignore[attr-defined]


def routes(store: Store) -> APIRouter:
    """The list; parameters by name choose trials, as in `?workers=2&batch_size=16`."""
    routes = APIRouter()

    @routes.get("/sweeps/{reference}/chosen")
    def chosen(reference: str, pick: Annotated[list[str] | None, Query(max_length=200)] = None) -> Response:
        """The curves of trials that were ticked in the list."""
        sweep = store.sweeps.find(reference)
        picked = tuple(dict.fromkeys(pick or ()))[:MOST_CURVES]
        return RedirectResponse(f"/sweeps/{sweep.id}{View(section='curves', trials=picked).query()}#curves")

    @routes.get("/sweeps/{reference}/trials")
    def trials(
        request: Request,
        reference: str,
        view: Annotated[View, Depends(view_of)],
        state: TrialState | None = None,
        order: Order = "plan",
        descending: bool = False,
        page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    ) -> Response:
        sweep = store.sweeps.find(reference)
        wanted = {name: value for name, value in request.query_params.items() if name not in _OWN}
        paging = Paging(page, 0, _PER_PAGE)
        ids = _chosen(store, sweep.id, wanted) if wanted else None
        found = store.views.trials(
            sweep.id,
            state=state,
            ids=ids,
            order=order,
            descending=descending,
            first=paging.first,
            most=_PER_PAGE,
        )
        names = list(dict.fromkeys(name for trial in found.trials for name in trial.parameters))
        kept = {**wanted, **({"state": state.value} if state else {})}
        return show(
            "trials.html",
            sweep=sweep,
            view=view,
            trials=found.trials,
            names=names,
            wanted=wanted,
            state=state.value if state else "",
            order=order,
            descending=descending,
            paging=Paging(page, found.total, _PER_PAGE),
            address=_addresses(kept, order, descending=descending),
        )

    return routes


def _chosen(store: Store, sweep_id: str, wanted: Mapping[str, str]) -> list[str]:
    """The trials whose parameters read so, or whose batch of all workers together does."""
    return [one.trial for one in store.trials.candidates(sweep_id, "steps") if _fits(one.parameters, wanted)]


def _fits(parameters: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    return all(_reads(_value(parameters, name), value) for name, value in wanted.items())


def _value(parameters: Mapping[str, Any], name: str) -> Any:
    if name == "global_batch_size" and parameters.get(name) is None and parameters.get("batch_size") is not None:
        return parameters["batch_size"] * parameters[WORKERS] // (parameters.get("parallel.channels") or 1)
    return parameters.get(name)


def _reads(value: Any, written: str) -> bool:
    if str(value) == written:
        return True
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value is None and written == ""
    try:
        return float(written) == float(value)
    except (ValueError, OverflowError):
        return False


def _addresses(kept: Mapping[str, str], order: str, *, descending: bool) -> Any:
    def address(**changes: Any) -> str:
        own = {"order": order, "descending": "true" if descending else "", **changes}
        said = {name: value for name, value in own.items() if value not in ("", None, "plan")}
        return "?" + urlencode({**{name: value for name, value in kept.items() if name not in own}, **said})

    return address
