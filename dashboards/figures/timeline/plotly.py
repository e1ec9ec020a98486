"""The timeline as a page draws it."""

from __future__ import annotations

from typing import Any

from dashboards.figures.plotly.layout import BAR, MUTED, axis, panel, safe, series
from dashboards.figures.timeline.table import TimelineTable, merged_parts
from sweeper.answers.timeline import OFF_THE_CLOCK, PARTS, SET_UP, START, TRAINING, Part

_LANE_PIXELS = 34
_COLOURS = {START: MUTED, SET_UP: series(5), TRAINING: BAR, OFF_THE_CLOCK: series(3)}


def timeline_plot(table: TimelineTable) -> dict[str, Any]:
    """A bar for each part of each gang's time, lane over lane; see `drawing.draw_timeline`."""
    names = table.lane_names
    parts = [(names[gang.lane], part) for gang in table.time.gangs for part in merged_parts(table.time, gang)]
    data = [_bars(name, of) for name in PARTS if (of := [(lane, part) for lane, part in parts if part.name == name])]
    layout = {
        "barmode": "overlay",
        "bargap": 0.35,
        "xaxis": axis("s since the first gang's start", rangemode="tozero"),
        "yaxis": axis(autorange="reversed", categoryorder="array", categoryarray=[safe(name) for name in names]),
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "showlegend": True,
    }
    height = 120 + _LANE_PIXELS * len(names)
    note = f"{table.words[0].upper()}{table.words[1:]}. Where a lane is empty, its gang was idle or there was none."
    return {"panels": [panel("", data, height, **layout)], "note": note}


def _bars(name: str, parts: list[tuple[str, Part]]) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": [safe(lane) for lane, _ in parts],
        "base": [part.begin for _, part in parts],
        "x": [part.end - part.begin for _, part in parts],
        "customdata": [f"{safe(part.trial)}, {part.state}" for _, part in parts],
        "marker": {"color": _COLOURS[name], "line": {"width": 0}},
        "hovertemplate": f"{name}: %{{x:.3g}} s from %{{base:.4g}} s<br>%{{customdata}}<extra></extra>",
    }
