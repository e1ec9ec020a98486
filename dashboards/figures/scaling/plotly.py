"""Scaling: three small panels by worker count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dashboards.figures.plotly.layout import MUTED, axis, dash, panel, safe, series
from dashboards.figures.scaling.table import ScalingRow, ScalingTable, oversubscribed_words
from dashboards.figures.words.labels import group_name, threshold_name


def scaling_plot(table: ScalingTable) -> dict[str, Any]:
    """Throughput, efficiency, time to threshold; see `drawing.draw_scaling`."""
    perfect = [_perfect(table, place) for place in range(len(table.series))]
    of = "settings that all counts have" if table.matched else "all complete trials"
    panels = [
        _panel("Throughput", "images/s", table, lambda row: row.throughput, perfect),
        _panel("Parallel efficiency", "", table, lambda row: row.efficiency, [_all(table)], tickformat=".0%"),
    ]
    if table.trials.threshold is not None:
        title = f"Time to {threshold_name(table.trials)}"
        panels.append(_panel(title, "s", table, lambda row: row.to_threshold, []))
    return {
        "panels": panels,
        "note": f"{table.kind.capitalize()} scaling; throughput: median of {of}. Dotted: perfect. "
        f"{oversubscribed_words(table)}".strip(),
    }


def _panel(
    title: str,
    unit: str,
    table: ScalingTable,
    value: Callable[[ScalingRow], float | None],
    beside: list[dict[str, Any]],
    **more: Any,
) -> dict[str, Any]:
    lines = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": safe(group_name(one.key)),
            "x": [row.workers for row in one.rows],
            "y": [value(row) for row in one.rows],
            "line": {"color": series(place), "width": 2, "dash": dash(place)},
            "marker": {"size": 8},
            "hovertemplate": "%{x} workers: %{y:.4g}<extra></extra>",
        }
        for place, one in enumerate(table.series)
    ]
    counts = sorted({row.workers for one in table.series for row in one.rows})
    layout = {
        "xaxis": axis("workers", type="log", tickvals=counts, ticktext=[str(count) for count in counts]),
        "yaxis": axis(unit, rangemode="tozero", **more),
        "showlegend": len(table.series) > 1,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    }
    return panel(title, [*beside, *lines], 280, **layout)


def _perfect(table: ScalingTable, place: int) -> dict[str, Any]:
    known = [row for row in table.series[place].rows if row.throughput is not None]
    rates = [known[0].throughput * row.workers / known[0].workers for row in known if known[0].throughput is not None]
    return _dotted([row.workers for row in known], rates)


def _all(table: ScalingTable) -> dict[str, Any]:
    counts = sorted({row.workers for one in table.series for row in one.rows})
    return _dotted(counts, [1.0] * len(counts))


def _dotted(xs: list[int], ys: list[float]) -> dict[str, Any]:
    line = {"color": MUTED, "width": 1.5, "dash": "dot"}
    return {
        "type": "scatter",
        "mode": "lines",
        "x": xs,
        "y": ys,
        "line": line,
        "hoverinfo": "skip",
        "showlegend": False,
    }
