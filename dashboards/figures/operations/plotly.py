"""Operations: a panel for each phase of a step, by worker count."""

from __future__ import annotations

from typing import Any

from dashboards.figures.operations.table import OperationTable
from dashboards.figures.plotly.layout import axis, dash, panel, safe, series
from dashboards.figures.words.labels import group_name


def operations_plot(table: OperationTable) -> dict[str, Any]:
    """Mean milliseconds of a step in each phase; see `drawing.draw_operations`."""
    note = ". ".join(["Median over learning rates and seeds", *(text[0].upper() + text[1:] for text in table.notes)])
    return {"panels": [_panel(table, phase) for phase in table.shown_phases], "note": f"{note}."}


def _panel(table: OperationTable, phase: str) -> dict[str, Any]:
    lines = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": safe(group_name(one.key)),
            "x": [row.workers for row in one.rows],
            "y": [None if (took := row.per_step.get(phase)) is None else 1000 * took for row in one.rows],
            "line": {"color": series(place), "width": 2, "dash": dash(place)},
            "marker": {"size": 8},
            "hovertemplate": "%{x} workers: %{y:.4g} ms<extra></extra>",
        }
        for place, one in enumerate(table.shown)
    ]
    counts = sorted({row.workers for one in table.shown for row in one.rows})
    layout = {
        "xaxis": axis("workers", type="log", tickvals=counts, ticktext=[str(count) for count in counts]),
        "yaxis": axis("ms per step", rangemode="tozero"),
        "showlegend": len(table.shown) > 1,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    }
    return panel(safe(phase), lines, 250, **layout)
