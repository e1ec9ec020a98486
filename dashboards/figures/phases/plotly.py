"""The phases of training, a bar per group."""

from __future__ import annotations

from typing import Any

from dashboards.figures.phases.table import PhaseTable, phase_name
from dashboards.figures.plotly.layout import axis, panel, safe, series
from dashboards.figures.words.labels import group_name


def phases_plot(table: PhaseTable) -> dict[str, Any]:
    """Shares of each bar with their seconds; see `drawing.draw_phases`."""
    groups = [safe(group_name(row.group.key)) for row in table.rows]
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": safe(phase_name(phase)),
            "y": groups,
            "x": [row.seconds.get(phase, 0.0) / row.total if row.total else 0.0 for row in table.rows],
            "customdata": [[row.seconds.get(phase), row.per_step.get(phase)] for row in table.rows],
            "hovertemplate": "%{x:.1%}, %{customdata[0]:.4g} s in all, %{customdata[1]:.4g} s a step"
            "<extra>%{fullData.name}</extra>",
            "marker": {"color": series(place), "pattern": {"shape": ("", "/", ".", "x")[place // 7 % 4]}},
        }
        for place, phase in enumerate(table.phases)
    ]
    layout: dict[str, Any] = {"barmode": "stack", "bargap": 0.3, "showlegend": True}
    layout["legend"] = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "normal"}
    layout["xaxis"] = axis("share of the time of rank 0", tickformat=".0%", range=[0, 1])
    layout["yaxis"] = axis(autorange="reversed", type="category", showgrid=False)
    silent = [name for name, row in zip(groups, table.rows, strict=True) if not row.total]
    note = f"No phases recorded: {', '.join(silent)}." if silent else ""
    return {"panels": [panel("", data, 190 + 34 * len(groups), **layout)], "note": note}
