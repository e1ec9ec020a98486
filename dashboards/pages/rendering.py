"""Pages of HTML from templates, with the words and numbers of the command line.

A template takes nothing that comes from elsewhere for HTML.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

from dashboards.figures.words.labels import plain
from dashboards.figures.words.numbers import parameter_words
from dashboards.pages.static_files import asset, plotly_address
from dashboards.responses.flags import without_flags
from sweeper.answers.numbers import dollars, duration, measure
from sweeper.answers.sweeps import shown_parameters, trial_answer
from sweeper.answers.trial_words import area_words, marks_of
from sweeper.plan.trial import TrialState
from sweeper.store import TrialRecord

_STATES = [state.value for state in TrialState]
_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,  # a name that a template needs and nobody gives is an error
    trim_blocks=True,
    lstrip_blocks=True,
)


def show(template: str, status: int = 200, **content: Any) -> HTMLResponse:
    """A page of one of our templates, which all know how to write numbers, moments and addresses."""
    given = {
        "measure": measure_words,
        "parameter": parameter_words,
        "shown_parameters": shown_parameters,
        "area": partial(area_words, none="–"),
        "marks": marks,
        "without_flags": without_flags,
        "dollars": dollars,
        "duration": duration,
        "moment": moment,
        "asset": asset,
        "plotly": plotly_address(),
        "states": _STATES,
    }
    return HTMLResponse(_ENVIRONMENT.get_template(template).render(**given, **content), status)


def error_page(status: int, kind: str, message: str, remedy: str = "") -> HTMLResponse:
    """An error with the words that programs get."""
    return show("error.html", status, code=status, kind=kind, message=message, remedy=remedy)


def measure_words(value: float | None) -> str:
    """A measured number as the command line has it; what is not finite by name."""
    return "–" if value is None else measure(value)


def marks(trial: TrialRecord) -> list[str]:
    """What is to be said of a trial beside its state."""
    return [*marks_of(trial_answer(trial)), *([] if trial.finite else ["not finite"])]


def parameters_words(parameters: dict[str, Any], without: Any = ()) -> str:
    """Parameters as in "batch size 64, learning rate 0.1"."""
    named = {name: value for name, value in parameters.items() if name not in without}
    return ", ".join(f"{plain(name)} {parameter_words(value)}" for name, value in named.items())


def moment(at: datetime | None) -> str:
    """A moment for a `time` element: ISO 8601 in UTC, empty where there is none."""
    return "" if at is None else at.isoformat(timespec="seconds")
