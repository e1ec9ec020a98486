"""How somebody looks at a sweep: all that a page's address says, so that it can be shared."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Query
from pydantic import BeforeValidator, Field

from dashboards.figures import Choices
from sweeper.answers.forecast import MOST_WORKERS
from sweeper.spec import Over

MOST_CURVES = 24  # that are drawn at once


def _none_if_empty(written: Any) -> Any:
    """A field of a form that was left empty says nothing."""
    return None if written == "" else written


Finite = Annotated[float, Field(allow_inf_nan=False)]
Threshold = Annotated[Finite | None, BeforeValidator(_none_if_empty), Query()]
Rate = Annotated[Annotated[Finite, Field(ge=0)] | None, BeforeValidator(_none_if_empty), Query()]
Axis = Annotated[Over | None, BeforeValidator(_none_if_empty), Query()]
Share = Annotated[Annotated[Finite, Field(gt=0, le=1)] | None, BeforeValidator(_none_if_empty), Query()]
Images = Annotated[Annotated[int, Field(ge=1, lt=2**63)] | None, BeforeValidator(_none_if_empty), Query()]
Counts = Annotated[list[Annotated[int, Field(ge=1, le=MOST_WORKERS)]] | None, Query(max_length=64)]
Sweeps = Annotated[list[Annotated[str, Field(max_length=300)]] | None, Query(alias="with", max_length=16)]
Trials = Annotated[str, Query(max_length=4000)]


@dataclass(frozen=True)
class View:
    """What was asked for; None where the sweep's own counts.

    `trials` are those whose curves are drawn, `choices` what was asked of some figures.
    """

    threshold: float | None = None
    over: str | None = None
    rate: float | None = None
    oversubscribed: bool = False
    section: str = ""
    trials: tuple[str, ...] = ()
    choices: Choices = field(default_factory=Choices)

    def query(self, **changes: Any) -> str:
        """The same as a query, with changes; empty where nothing differs from what a sweep has of its own."""
        view = replace(self, **changes)
        fields = {
            "threshold": view.threshold,
            "over": view.over,
            "dollars_per_worker_hour": view.rate,
            "oversubscribed": "true" if view.oversubscribed else None,
            "section": view.section,
            "trials": ",".join(view.trials),
            "error": "true" if view.choices.error else None,
            "accuracy": view.choices.accuracy,
            "images": view.choices.images,
            "forecast": view.choices.forecast,
            "with": view.choices.with_sweeps,
        }
        given = {name: value for name, value in fields.items() if value not in (None, "", ())}
        return f"?{urlencode(given, doseq=True)}" if given else ""


def view_of(
    threshold: Threshold = None,
    over: Axis = None,
    dollars_per_worker_hour: Rate = None,
    oversubscribed: bool = False,
    section: Annotated[str, Query(max_length=40)] = "",
    trials: Trials = "",
    error: bool = False,
    accuracy: Share = None,
    forecast: Counts = None,
    with_sweeps: Sweeps = None,
    images: Images = None,
) -> View:
    """The view that a request asks for."""
    chosen = tuple(dict.fromkeys(one for one in trials.split(",") if one))[:MOST_CURVES]
    choices = Choices(error, accuracy, tuple(forecast or ()), tuple(with_sweeps or ()), images)
    return View(threshold, over, dollars_per_worker_hour, oversubscribed, section, chosen, choices)
