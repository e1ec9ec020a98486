"""Scaling: small panels by worker count."""

from __future__ import annotations

from typing import Any

from dashboards.figures.plotly.layout import MUTED, axis, dash, panel, safe, series
from dashboards.figures.scaling.panels import (
    Line,
    Panel,
    measured_line,
    panels_of,
    predicted_line,
    predicted_points,
    words_of,
)
from dashboards.figures.scaling.table import ScalingTable

_HOVER = "%{x} workers: %{y:.4g}<extra>%{fullData.name}</extra>"


def scaling_plot(table: ScalingTable) -> dict[str, Any]:
    """The panels of `panels_of`; see `drawing.draw_scaling`."""
    words = words_of(table)
    return {
        "panels": [_panel(one, table) for one in panels_of(table)],
        "note": f"{words[:1].upper()}{words[1:]} Dotted: perfect.",
    }


def _panel(shown: Panel, table: ScalingTable) -> dict[str, Any]:
    counts = table.counts
    lines = [_dotted((counts, [1.0] * len(counts)), MUTED)] if shown.share else []
    lines += [line for place in range(len(table.series)) for line in _lines(shown, table, place)]
    layout = {
        "xaxis": axis("workers", type="log", tickvals=counts, ticktext=[str(count) for count in counts]),
        "yaxis": axis(shown.axis, rangemode="tozero", **({"tickformat": ".0%"} if shown.share else {})),
        "showlegend": len(table.series) > 1 or any(one.predicted for one in table.series),
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    }
    return panel(shown.name, lines, 280, **layout)


def _lines(shown: Panel, table: ScalingTable, place: int) -> list[dict[str, Any]]:
    one = table.series[place]
    colour = series(place)
    look = {"color": colour, "width": 2, "dash": dash(place)}
    measured = _line(measured_line(one, shown.value), mode="lines+markers", line=look, name=safe(one.name))
    lines = [measured | {"marker": {"size": 8}, "hovertemplate": _HOVER}]
    if shown.perfect:
        lines.insert(0, _dotted(shown.perfect(one), colour if len(table.series) > 1 else MUTED))
    if one.predicted:
        dashes = {"color": colour, "width": 2, "dash": "dash"}
        path = _line(predicted_line(one, shown.value), mode="lines", line=dashes, hoverinfo="skip", showlegend=False)
        hollow = {"size": 8, "symbol": "circle-open", "color": colour, "line": {"width": 2}}
        points = _line(predicted_points(one, shown.value), mode="markers", marker=hollow, hovertemplate=_HOVER)
        lines += [path, points | {"name": safe(f"{one.name}, predicted" if len(table.series) > 1 else "predicted")}]
    return lines


def _dotted(path: Line, colour: str) -> dict[str, Any]:
    dots = {"color": colour, "width": 1.5, "dash": "dot"}
    return _line(path, mode="lines", line=dots, hoverinfo="skip", showlegend=False)


def _line(path: Line, **more: Any) -> dict[str, Any]:
    counts, values = path
    return {"type": "scatter", "x": counts, "y": values, **more}
