"""The accuracy on the test set, or the error, of the best trial of each group."""

from __future__ import annotations

from typing import Any

from dashboards.figures.accuracy.table import AccuracyTable, share_name
from dashboards.figures.plotly.layout import axis, dash, panel, safe, series
from dashboards.figures.words.labels import axis_name, line_name


def accuracy_plot(table: AccuracyTable) -> dict[str, Any]:
    """A line for each group; see `drawing.draw_accuracy`."""
    lines = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": safe(line_name(row.group, row.trial, table.trials, chosen=table.chosen)),
            "x": list(row.positions),
            "y": list(table.values(row)),
            "line": {"color": series(place), "width": 2, "dash": dash(place)},
            "hovertemplate": "%{y:.2%} at %{x:.4g}<extra></extra>",
        }
        for place, row in enumerate(table.rows)
    ]
    layout: dict[str, Any] = {
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "showlegend": True,
    }
    layout["xaxis"] = axis(axis_name(table.trials.along), rangemode="tozero")
    layout["yaxis"] = axis(share_name(table), tickformat=".0%")
    return {"panels": [panel("", lines, 300 + 20 * len(lines), **layout)], "note": ""}
