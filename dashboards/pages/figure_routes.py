"""The figures of a sweep: as JSON for the page's script, as files from the same tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends
from starlette.responses import Response

from dashboards.answers import JsonAnswer, to_json
from dashboards.figure_file import render
from dashboards.kinds import KINDS
from dashboards.pages.downloads import Extension, download, drawn_or_why_not, rows_of
from dashboards.pages.plots import OF_CHOSEN, plot
from dashboards.pages.tables import Tables
from dashboards.pages.view import View, view_of
from sweeper.store import Store, SweepRecord

KindName = Literal["heatmap", "histogram", "curves", "accuracy", "coordinates", "phases", "scaling"]


def routes(store: Store, tables: Tables) -> APIRouter:
    """One address a figure and format."""
    routes = APIRouter()

    @routes.get("/sweeps/{reference}/figures/{kind}.{extension}")
    def figure(
        reference: str, kind: KindName, extension: Extension, view: Annotated[View, Depends(view_of)]
    ) -> Response:
        sweep = store.sweeps.find(reference)
        if extension == "json":
            return Response(_json(store, tables, sweep, kind, view), media_type="application/json")
        trials = tables.trials(sweep, view)
        if view.trials and kind in OF_CHOSEN:
            table = OF_CHOSEN[kind](store, trials, view.trials)
        else:
            table = KINDS[kind].table(store, trials)
        if extension == "rows":
            return JsonAnswer(rows_of(KINDS[kind].csv(table)))
        made = KINDS[kind].csv(table) if extension == "csv" else render(KINDS[kind].draw(table), extension)
        return download(made, sweep.name, sweep.id, kind, extension)

    return routes


def _json(store: Store, tables: Tables, sweep: SweepRecord, kind: str, view: View) -> bytes:
    """A figure for the page's script; what is made of points is made anew each time, since these come meanwhile."""

    def made() -> bytes:
        return to_json(drawn_or_why_not(lambda: _drawn(store, tables, sweep, kind, view)))

    return made() if kind in OF_CHOSEN else tables.drawn(sweep, kind, view, made)


def _drawn(store: Store, tables: Tables, sweep: SweepRecord, kind: str, view: View) -> dict[str, Any]:
    return plot(kind, store, tables.trials(sweep, view), view, lambda: _doubtful(tables.best(sweep, view)))


def _doubtful(answer: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(trial for group in answer["groups"] for trial in group["in_doubt"])
