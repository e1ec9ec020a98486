"""Parallel coordinates, drawn as lines of SVG: no canvas, no WebGL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dashboards.figures.coordinates.table import (
    CoordinateRow,
    CoordinateTable,
    area_of,
    columns_of,
)
from dashboards.figures.plotly.layout import MUTED, WINNER, axis, panel, safe
from dashboards.figures.words.labels import plain

_MOST = 400  # lines; of more the best and an even choice of the others
_CLASSES = ("best fifth of areas", "second fifth", "third fifth", "fourth fifth", "last fifth")


def coordinates_plot(table: CoordinateTable) -> dict[str, Any]:
    """A line a trial over all that varies, with area and minimum loss; the qualified by fifths of their areas."""
    rows = _shown(table)
    names = [plain(dimension.name) for dimension in table.dimensions] + ["area", "minimum loss"]
    columns = columns_of(table, rows)
    heights = dict(
        zip((row.trial.trial for row in rows), zip(*(heights for heights, _ in columns), strict=True), strict=True)
    )
    data = [
        _lines(name, members, heights, place) for place, (name, members) in enumerate(_classes(rows).items()) if members
    ]
    annotations = [note for place, (_, ticks) in enumerate(columns) for note in _notes(place, ticks)]
    made = panel(
        "",
        data,
        430,
        xaxis={"tickvals": list(range(len(names))), "ticktext": [safe(name) for name in names], "side": "top"},
        yaxis=axis(visible=False, range=[-0.06, 1.06]),
        annotations=annotations,
        legend={"orientation": "h", "y": -0.02},
        showlegend=True,
        hovermode="closest",
    )
    note = (
        "" if len(rows) == len(table.rows) else f"{len(rows)} of {len(table.rows)} trials are drawn; the CSV has all."
    )
    return {"panels": [made], "note": note}


def _notes(x: int, ticks: Sequence[tuple[float, str]]) -> list[dict[str, Any]]:
    """The values beside the axis at `x`."""
    look = {"showarrow": False, "xanchor": "right", "xshift": -5, "font": {"size": 11}, "x": x}
    return [{**look, "y": y, "text": safe(text), "bgcolor": "var(--panel-veil)"} for y, text in ticks]


def _shown(table: CoordinateTable) -> list[CoordinateRow]:
    rows = sorted(table.rows, key=_order)
    if len(rows) <= _MOST:
        return rows
    best, rest = rows[: _MOST // 4], rows[_MOST // 4 :]
    places = _MOST - len(best)
    return [*best, *(rest[i * len(rest) // places] for i in range(places))]


def _order(row: CoordinateRow) -> tuple[bool, bool, float, int]:
    trial = row.trial
    return (not trial.winner, not trial.qualified, area_of(row) or 0.0, trial.position)


def _classes(rows: Sequence[CoordinateRow]) -> dict[str, list[CoordinateRow]]:
    """Lines by their looks, those on top last: one trace each, however many lines it has."""
    qualified = [row for row in rows if row.trial.qualified and not row.trial.winner]
    found: dict[str, list[CoordinateRow]] = {"not qualified": [row for row in rows if not row.trial.qualified]}
    for number_, name in reversed(list(enumerate(_CLASSES))):
        fifth = len(qualified) / len(_CLASSES)
        found[name] = qualified[round(number_ * fifth) : round((number_ + 1) * fifth)]
    found["winners"] = [row for row in rows if row.trial.winner]
    return found


def _lines(
    name: str, rows: Sequence[CoordinateRow], heights: Mapping[str, Sequence[float]], place: int
) -> dict[str, Any]:
    xs: list[float | None] = []
    ys: list[float | None] = []
    addresses: list[str] = []
    for row in rows:
        ys += [*heights[row.trial.trial], None]
        xs += [*range(len(heights[row.trial.trial])), None]
        addresses += [f"/trials/{row.trial.trial}"] * (len(heights[row.trial.trial]) + 1)
    colour = WINNER if name == "winners" else MUTED if name == "not qualified" else f"var(--fifth-{6 - place})"
    width = 3 if name == "winners" else 1.2
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "marker": {"size": 4},
        "name": name,
        "x": xs,
        "y": ys,
        "line": {"color": colour, "width": width},
        "opacity": 1 if name == "winners" else 0.35 if name == "not qualified" else 0.75,
        "connectgaps": False,
        "hoverinfo": "name",
        "customdata": addresses,
    }
