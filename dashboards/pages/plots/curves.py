"""Loss curves of chosen trials, thinned, to which a page adds what is new."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dashboards.figures.curves import logarithmic
from dashboards.figures.labels import plain
from dashboards.figures.number_format import setting
from dashboards.figures.style import axis_name
from dashboards.frames import WORKERS, TrialTable
from dashboards.frames.positions import position
from dashboards.pages.plots.parts import BAD, axis, dash, panel, safe, series
from dashboards.pages.rendering import parameter_words
from dashboards.thinning import thin
from sweeper.errors import FigureError
from sweeper.plan.trial import TrialState
from sweeper.ranking.cost import dollars_per_second
from sweeper.ranking.curve import LossPoint
from sweeper.store import Store, TrialRecord

_MOST_POINTS = 600  # of a curve: more than a line has pixels to show
_MOST_GROUPS, _MOST_RUNNING = 8, 8  # curves that are drawn where none are chosen


def curves_plot(store: Store, table: TrialTable, chosen: Sequence[str]) -> dict[str, Any]:
    """Loss over the table's axis, of `chosen` trials or else of the best of each group and of those that run.

    "live" says what a page needs to add points: the axis, and by trial its line, attempt, last step, dollars a second.
    Losses that are not finite stand as crosses at the last loss that was.

    Raises:
        FigureError: nothing is there to draw, or a curve does not say its images.
    """
    trials = _chosen(store, table, chosen)
    varied = _varied(trials)
    lines: list[dict[str, Any]] = []
    live: dict[str, Any] = {}
    losses: list[float] = []
    for place, trial in enumerate(trials):
        points = store.attempts.points(trial.id)
        losses += [point.loss for point in points if math.isfinite(point.loss)]
        live[trial.id] = {
            "line": len(lines),
            "attempt": trial.attempt,
            "step": points[-1].step if points else 0,
            "per_second": _per_second(trial, table),
        }
        lines += _lines(trial, points, table, place, varied)
    if not any(line["x"] for line in lines) and not any(trial.state is TrialState.RUNNING for trial in trials):
        raise FigureError(
            f"sweep {table.name!r} has no loss points to draw", "wait until a trial runs or has ended, or choose some"
        )
    made = panel(
        "",
        lines,
        340 + 20 * len(trials),
        xaxis=axis(axis_name(table.over), rangemode="tozero"),
        yaxis=axis("loss", type="log" if logarithmic(losses) else "linear"),
        shapes=_threshold(table, losses),
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        showlegend=True,
    )
    note = "Crosses: losses that are not finite. Dashed: the threshold." if table.threshold is not None else ""
    return {"panels": [{**made, "live": {"over": table.over, "trials": live}}], "note": note}


def _chosen(store: Store, table: TrialTable, chosen: Sequence[str]) -> list[TrialRecord]:
    if chosen:
        found = [store.trials.find(trial_id) for trial_id in chosen]
        return [trial for trial in found if trial.sweep_id == table.sweep]
    best = [group.best.trial for group in table.groups if group.best][:_MOST_GROUPS]
    running = [row.trial for row in store.progress.running(table.sweep)][:_MOST_RUNNING]
    return [store.trials.find(trial_id) for trial_id in dict.fromkeys([*best, *running])]


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


def _lines(
    trial: TrialRecord, points: Sequence[LossPoint], table: TrialTable, place: int, varied: Sequence[str]
) -> list[dict[str, Any]]:
    places = [position(point, trial, table) for point in points]
    if any(at is None for at in places):
        raise FigureError(f"the curve of trial {trial.id} does not say its {table.over}", "choose seconds or steps")
    thinned = thin([point.loss for point in points], _MOST_POINTS)
    colour = series(place)
    line = {
        "type": "scatter",
        "mode": "lines",
        "name": _name(trial, varied),
        "x": [places[i] for i in thinned.kept],
        "y": [points[i].loss if math.isfinite(points[i].loss) else None for i in thinned.kept],
        "line": {"color": colour, "width": 2, "dash": dash(place)},
        "hovertemplate": "%{y:.4g} at %{x:.4g}<extra>%{fullData.name}</extra>",
    }
    if not thinned.not_finite:
        return [line]
    return [line, _crosses(points, places, thinned.not_finite, place)]


def _crosses(
    points: Sequence[LossPoint], places: Sequence[float | None], not_finite: Sequence[int], place: int
) -> dict[str, Any]:
    shown = not_finite[:_MOST_POINTS]
    heights, last = [], next((point.loss for point in points if math.isfinite(point.loss)), 1.0)
    for point in points[: shown[-1] + 1]:
        last = point.loss if math.isfinite(point.loss) else last
        heights.append(last)
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [places[i] for i in shown],
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
