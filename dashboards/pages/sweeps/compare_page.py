"""Two sweeps side by side."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from dashboards.figures import FIGURES, Source
from dashboards.pages.figures.downloads import Extension, drawn_or_why_not, table_or_file
from dashboards.pages.kept_tables import Tables
from dashboards.pages.rendering import show
from dashboards.pages.sweeps.best_table import best_table
from dashboards.pages.sweeps.sweep_list import shares
from dashboards.pages.view import View, view_of
from dashboards.responses.json_answers import JsonAnswer
from sweeper.answers.differences import spec_differences
from sweeper.store import Store, SweepRecord

_MOST_NAMED = 200
_COMPARISON = FIGURES["comparison"]
Reference = Annotated[str, Query(max_length=300)]
Looked = Annotated[View, Depends(view_of)]


def routes(store: Store, tables: Tables) -> APIRouter:
    """The page and its figure."""
    routes = APIRouter()

    @routes.get("/compare")
    def compare(view: Looked, a: Reference = "", b: Reference = "", unlike: bool = False) -> Response:
        sweeps = [store.sweeps.find(one) for one in (a, b) if one]
        sides = [_side(sweep, view, tables) for sweep in sweeps]
        return show(
            "compare.html",
            a=a,
            b=b,
            view=view,
            sides=sides,
            known=store.sweeps.all()[:_MOST_NAMED],
            both=len(sides) == 2,
            unlike=unlike,
            differences=spec_differences(*sweeps) if len(sweeps) == 2 else [],
            comparison=_COMPARISON,
        )

    @routes.get("/compare/figure.{extension}")
    def figure(view: Looked, extension: Extension, a: Reference, b: Reference, unlike: bool = False) -> Response:
        first, second = store.sweeps.find(a), store.sweeps.find(b)

        def source() -> Source:
            before = tables.trials(first, view)
            return Source(store, tables.trials(second, _over(view, before.over)), before, unlike=unlike)

        if extension == "json":
            return JsonAnswer(drawn_or_why_not(lambda: _COMPARISON.plotly(source())))
        return table_or_file(_COMPARISON, _COMPARISON.table(source()), second, extension)

    return routes


def _over(view: View, axis: str) -> View:
    return View(view.threshold, axis, view.rate, view.oversubscribed)


def _side(sweep: SweepRecord, view: View, tables: Tables) -> dict[str, Any]:
    best = best_table(tables.best(sweep, view)) if sweep.trials else None
    return {"sweep": sweep, "shares": shares(sweep.states, sweep.total), "best": best}
