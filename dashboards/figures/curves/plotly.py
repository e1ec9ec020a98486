"""Loss curves of chosen trials, thinned; a page adds new points to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dashboards.figures.curves.table import FollowedCurve, FollowedTable, logarithmic
from dashboards.figures.plotly.layout import BAD, axis, dash, panel, safe, series
from dashboards.figures.plotly.thinning import thin
from dashboards.figures.tables import WORKERS, TrialTable
from dashboards.figures.words.labels import axis_name, plain
from dashboards.figures.words.numbers import parameter_words, setting
from sweeper.plan.trial import TrialState
from sweeper.ranking.cost import dollars_per_second
from sweeper.store import TrialRecord

_MOST_POINTS = 600  # of a curve: more than a line has pixels to show


def curves_plot(table: FollowedTable) -> dict[str, Any]:
    """Loss over the table's axis.

    "live" says what a page needs to add points: the axis, and by trial its line, attempt, last step, dollars a second.
    Losses that are not finite are crosses, drawn at the last finite loss.
    """
    trials = table.trials
    varied = _varied([row.trial for row in table.rows])
    lines: list[dict[str, Any]] = []
    live: dict[str, Any] = {}
    for place, row in enumerate(table.rows):
        live[row.trial.id] = {
            "line": len(lines),
            "attempt": row.trial.attempt,
            "step": row.points[-1].step if row.points else 0,
            "per_second": _per_second(row.trial, trials),
        }
        lines += _lines(row, place, varied)
    losses = [point.loss for row in table.rows for point in row.points if math.isfinite(point.loss)]
    made = panel(
        "",
        lines,
        340 + 20 * len(table.rows),
        xaxis=axis(axis_name(trials.along), rangemode="tozero"),
        yaxis=axis("loss", type="log" if logarithmic(losses) else "linear"),
        shapes=_threshold(trials, losses),
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        showlegend=True,
    )
    note = "Crosses: losses that are not finite. Dashed: the threshold." if trials.threshold is not None else ""
    return {"panels": [{**made, "live": {"over": trials.over, "trials": live}}], "note": note}


def _varied(trials: Sequence[TrialRecord]) -> list[str]:
    """The parameters that tell these trials apart; all of a single one's."""
    names = dict.fromkeys(name for trial in trials for name in trial.parameters)
    if len(trials) < 2:
        return list(names)
    return [name for name in names if len({repr(trial.parameters.get(name)) for trial in trials}) > 1]


def _name(trial: TrialRecord, varied: Sequence[str]) -> str:
    words = ", ".join(f"{plain(name)} {parameter_words(trial.parameters.get(name))}" for name in varied)
    state = "" if trial.state is TrialState.COMPLETED else f" ({trial.state})"
    return safe(f"{words or trial.id}{state}")


def _lines(row: FollowedCurve, place: int, varied: Sequence[str]) -> list[dict[str, Any]]:
    thinned = thin([point.loss for point in row.points], _MOST_POINTS)
    losses = [row.points[i].loss for i in thinned.kept]
    line = {
        "type": "scatter",
        "mode": "lines",
        "name": _name(row.trial, varied),
        "x": [row.positions[i] for i in thinned.kept],
        "y": [loss if math.isfinite(loss) else None for loss in losses],
        "line": {"color": series(place), "width": 2, "dash": dash(place)},
        "hovertemplate": "%{y:.4g} at %{x:.4g}<extra>%{fullData.name}</extra>",
    }
    return [line, _crosses(row, thinned.not_finite, place)] if thinned.not_finite else [line]


def _crosses(row: FollowedCurve, not_finite: Sequence[int], place: int) -> dict[str, Any]:
    points, shown = row.points, not_finite[:_MOST_POINTS]
    heights, last = [], next((point.loss for point in points if math.isfinite(point.loss)), 1.0)
    for point in points[: shown[-1] + 1]:
        last = point.loss if math.isfinite(point.loss) else last
        heights.append(last)
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [row.positions[i] for i in shown],
        "y": [heights[i] for i in shown],
        "marker": {"symbol": "x", "size": 8, "color": BAD, "line": {"color": series(place), "width": 1}},
        "text": [f"loss {points[i].loss} at step {points[i].step}" for i in shown],
        "hoverinfo": "text",
        "showlegend": False,
    }


def _per_second(trial: TrialRecord, table: TrialTable) -> float | None:
    return None if table.rate is None else dollars_per_second({WORKERS: trial.workers}, table.rate)


def _threshold(table: TrialTable, losses: Sequence[float]) -> list[dict[str, Any]]:
    limit = table.threshold
    if limit is None or not losses or limit > 2 * max(losses):
        return []
    line = {"color": "var(--ink)", "width": 1, "dash": "dash"}
    at = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": limit, "y1": limit, "line": line}
    return [{**at, "label": {"text": f"threshold {setting(limit)}", "textposition": "end", "font": {"size": 11}}}]
