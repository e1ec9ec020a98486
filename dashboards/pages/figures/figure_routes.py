"""The figures of a sweep: as JSON for the page's script, and as files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import AfterValidator
from pydantic_core import PydanticCustomError
from starlette.responses import Response

from dashboards.figures import FIGURES, Answers, Choices, Figure, Source
from dashboards.pages.figures.downloads import Extension, drawn_or_why_not, table_or_file
from dashboards.pages.kept_tables import Tables
from dashboards.pages.view import View, view_of
from dashboards.responses.json_answers import to_json
from sweeper.store import Store, SweepRecord


def _figure_of_one_sweep(name: str) -> str:
    known = [figure.name for figure in FIGURES.values() if not figure.compares]
    if name not in known:
        *most, last = map(repr, known)
        raise PydanticCustomError("figure", "Input should be {known}", {"known": f"{', '.join(most)} or {last}"})
    return name


FigureName = Annotated[str, AfterValidator(_figure_of_one_sweep)]


def routes(store: Store, tables: Tables) -> APIRouter:
    """One address for each figure and format."""
    routes = APIRouter()

    @routes.get("/sweeps/{reference}/figures/{kind}.{extension}")
    def figure(
        reference: str, kind: FigureName, extension: Extension, view: Annotated[View, Depends(view_of)]
    ) -> Response:
        sweep, figure = store.sweeps.find(reference), FIGURES[kind]
        if extension == "json":
            return Response(_json(store, tables, sweep, figure, view), media_type="application/json")
        table = figure.table(_source(store, tables, sweep, view))
        return table_or_file(figure, table, sweep, extension)

    return routes


def _json(store: Store, tables: Tables, sweep: SweepRecord, figure: Figure[Any], view: View) -> bytes:
    """A figure for the page's script; one of loss points is made anew each time, since points come meanwhile,
    and so is one of further choices."""

    def made() -> bytes:
        return to_json(drawn_or_why_not(lambda: figure.plotly(_source(store, tables, sweep, view))))

    kept = not figure.of_chosen and view.choices == Choices()
    return tables.drawn(sweep, figure.name, view, made) if kept else made()


def _source(store: Store, tables: Tables, sweep: SweepRecord, view: View) -> Source:
    def doubtful() -> frozenset[str]:
        return _doubtful(tables.best(sweep, view))

    def answers(wait: bool) -> Answers:
        told: Answers = (tables.recommended if wait else tables.best)(sweep, view)["groups"]
        return told

    trials = tables.trials(sweep, view)
    alike = replace(view, over=trials.over, threshold=trials.threshold)
    others = tuple(tables.trials(store.sweeps.find(other), alike) for other in view.choices.with_sweeps)
    asked: dict[str, Any] = {"chosen": view.trials, "choices": view.choices, "others": others}
    return Source(store, trials, doubtful=doubtful, answers=answers, **asked)


def _doubtful(answer: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(trial for group in answer["groups"] for trial in group["in_doubt"])
