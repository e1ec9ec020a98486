"""The settings that may be the best, for a page: a panel for each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dashboards.figures.candidates.table import Candidate, CandidateGroup, CandidateTable, names_of
from dashboards.figures.plotly.layout import BAR, WINNER, axis, panel, safe
from dashboards.figures.words.labels import area_unit, group_name
from dashboards.figures.words.numbers import measure
from sweeper.spec.repeats import LEVEL

_INK = "var(--ink)"


def candidates_plot(table: CandidateTable) -> dict[str, Any]:
    """The same as `drawing.draw_candidates`; a click on a setting leads to its trial."""
    note = (
        f"Dots: expected areas, with the intervals that hold them at {100 * LEVEL:g} %; in colour what is recommended. "
        "Hollow: measured areas. Behind each name stands the chance that it is the best of its group."
    )
    return {"panels": [_panel(one, table) for one in table.groups], "note": note}


def _panel(one: CandidateGroup, table: CandidateTable) -> dict[str, Any]:
    name = group_name(one.group.key)
    if not one.candidates:
        return panel(f"{name}: {one.why}", [], 0)
    shown, names = one.shown, [safe(text) for text in names_of(one, table.trials)]
    left_out = len(one.candidates) - len(shown)
    labels = [f"{text}  {safe(found.chance)}" for text, found in zip(names, shown, strict=True)]
    return panel(
        f"{name}; {left_out} more are less likely" if left_out else name,
        [_intervals(shown, labels, table.trials.over), _measured(shown)],
        max(150, 80 + 26 * len(shown)),
        xaxis=axis(f"area, {area_unit(table.trials.over)}"),
        yaxis=axis(
            tickvals=list(range(len(shown))),
            ticktext=labels,
            range=[len(shown) - 0.5, -0.5],
            showgrid=False,
            zeroline=False,
        ),
        showlegend=False,
    )


def _intervals(shown: Sequence[Candidate], labels: Sequence[str], over: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [one.area for one in shown],
        "y": list(range(len(shown))),
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [one.high - one.area for one in shown],
            "arrayminus": [one.area - one.low for one in shown],
            "thickness": 2,
            "width": 0,
            "color": BAR,
        },
        "marker": {"color": [WINNER if one.recommended else BAR for one in shown], "size": 10},
        "hovertext": [_words(one, label, over) for one, label in zip(shown, labels, strict=True)],
        "hoverinfo": "text",
        "customdata": [f"/trials/{one.row.trial}" for one in shown],
    }


def _measured(shown: Sequence[Candidate]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [one.row.area for one in shown],
        "y": list(range(len(shown))),
        "marker": {"symbol": "diamond-open", "color": _INK, "size": 8},
        "hoverinfo": "skip",
    }


def _words(one: Candidate, label: str, over: str) -> str:
    seeds = f", mean of {one.row.repeats} seeds" if one.row.repeats > 1 else ""
    measured = "" if one.row.area is None else f"<br>measured {measure(one.row.area)}{seeds}"
    regret = f"<br>expected {100 * one.regret:.1f} % above the best"
    recommended = "<br>recommended" if one.recommended else ""
    interval = f"{measure(one.low)} to {measure(one.high)}"
    return f"{label}<br>area {measure(one.area)} over {over} ({interval}){measured}{regret}{recommended}"
