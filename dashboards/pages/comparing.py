"""Two sweeps side by side."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from dashboards.answers import JsonAnswer
from dashboards.csv_text import comparison_csv
from dashboards.figure_file import render
from dashboards.figures import draw_comparison
from dashboards.frames import Comparison, comparison
from dashboards.pages.best_table import best_table
from dashboards.pages.downloads import Extension, download, drawn_or_why_not, rows_of
from dashboards.pages.plots.comparison import comparison_plot
from dashboards.pages.rendering import show
from dashboards.pages.sweep_list import shares
from dashboards.pages.tables import Tables
from dashboards.pages.view import View, view_of
from sweeper.store import Store, SweepRecord

_MOST_NAMED = 200
Reference = Annotated[str, Query(max_length=300)]
Looked = Annotated[View, Depends(view_of)]


def routes(store: Store, tables: Tables) -> APIRouter:
    """The page and its figure."""
    routes = APIRouter()

    @routes.get("/compare")
    def compare(view: Looked, a: Reference = "", b: Reference = "") -> Response:
        sides = [_side(store.sweeps.find(one), view, tables) for one in (a, b) if one]
        return show(
            "compare.html",
            a=a,
            b=b,
            view=view,
            sides=sides,
            known=store.sweeps.all()[:_MOST_NAMED],
            both=len(sides) == 2,
        )

    @routes.get("/compare/figure.{extension}")
    def figure(view: Looked, extension: Extension, a: Reference, b: Reference) -> Response:
        both = store.sweeps.find(a), store.sweeps.find(b)
        if extension == "json":
            return JsonAnswer(drawn_or_why_not(lambda: comparison_plot(_table(*both, view, tables))))
        table = _table(*both, view, tables)
        if extension == "csv":
            return download(comparison_csv(table), table.second.name, table.second.sweep, "comparison", extension)
        if extension == "rows":
            return JsonAnswer(rows_of(comparison_csv(table)))
        drawn = render(draw_comparison(table), extension)
        return download(drawn, table.second.name, table.second.sweep, "comparison", extension)

    return routes


def _table(first: SweepRecord, second: SweepRecord, view: View, tables: Tables) -> Comparison:
    before = tables.trials(first, view)
    return comparison(before, tables.trials(second, _over(view, before.over)))


def _over(view: View, axis: str) -> View:
    return View(view.threshold, axis, view.rate, view.oversubscribed)


def _side(sweep: SweepRecord, view: View, tables: Tables) -> dict[str, Any]:
    best = best_table(tables.best(sweep, view)) if sweep.trials else None
    return {"sweep": sweep, "shares": shares(sweep.states, sweep.total), "best": best}
