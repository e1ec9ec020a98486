"""The histogram: qualified areas by minimum loss, a panel per group."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from dashboards.figures.histogram.table import bar_labels, sorted_bars
from dashboards.figures.plotly.layout import BAR, MUTED, WINNER, axis, panel, safe
from dashboards.figures.plotly.thinning import thin
from dashboards.figures.tables import TrialGroup, TrialRow, TrialTable, check_groups
from dashboards.figures.words.labels import area_unit, group_name, nearest_name, result_name
from dashboards.figures.words.numbers import measure

_MOST_BARS = 240  # of a panel; above it one outline, thinned
_MOST_POINTS = 800
_NAMED = 40
_MOST_DOUBTFUL = 100


def histogram_plot(table: TrialTable, doubtful: Collection[str]) -> dict[str, Any]:
    """Areas of the qualified, lowest minimum loss first; see `drawing.draw_histogram`.

    Hatched behind them stand the `doubtful`: trials pruned under another threshold, with their areas so far.

    Raises:
        FigureError: more groups than a page can hold.
    """
    check_groups(table)
    marked = set(doubtful)
    panels = [_panel(group, table, marked) for group in table.groups]
    note = "Lowest minimum loss to the left; the winner, the lowest bar, in colour."
    if marked:
        note += " Hatched: pruned under another threshold, area so far."
    return {"panels": panels, "note": note}


def _panel(group: TrialGroup, table: TrialTable, doubtful: set[str]) -> dict[str, Any]:
    bars = sorted_bars(group)
    pruned = [row for row in group.rows if row.trial in doubtful and row.area is not None][:_MOST_DOUBTFUL]
    title = f"{group_name(group.key)}: {result_name(group, table)}"
    if not bars and not pruned:
        return panel(f"{title}; {nearest_name(group, table)}", [], 0)
    data = [_outline(bars, table)] if len(bars) > _MOST_BARS else [_bars(bars, table)] if bars else []
    labels = [safe(label) for label in bar_labels(bars)] if 0 < len(bars) <= _NAMED else []
    if winner := group.winner:
        data.append(_star(bars.index(winner), winner))
    if pruned:
        data.append(_pruned(pruned, len(bars)))
    return panel(
        title,
        data,
        230 if len(bars) > _NAMED else 260,
        xaxis=axis(showgrid=False, tickvals=list(range(len(labels))), ticktext=labels, tickangle="auto"),
        yaxis=axis(f"area, {area_unit(table.over)}", rangemode="tozero"),
        bargap=0.2,
        showlegend=False,
    )


def _bars(bars: Sequence[TrialRow], table: TrialTable) -> dict[str, Any]:
    return {
        "type": "bar",
        "x": list(range(len(bars))),
        "y": [row.area for row in bars],
        "marker": {"color": [WINNER if row.winner else BAR for row in bars]},
        "hovertext": [_words(row, label, table) for row, label in zip(bars, bar_labels(bars), strict=True)],
        "hoverinfo": "text",
        "customdata": [f"/trials/{row.trial}" for row in bars],
    }


def _outline(bars: Sequence[TrialRow], table: TrialTable) -> dict[str, Any]:
    """One line for all bars: so many by themselves would take a browser seconds."""
    areas = [row.area or 0.0 for row in bars]
    kept = thin(areas, _MOST_POINTS).kept
    labels = bar_labels(bars)
    return {
        "type": "scatter",
        "mode": "lines",
        "line": {"color": BAR, "width": 1, "shape": "hvh"},
        "fill": "tozeroy",
        "x": list(kept),
        "y": [areas[i] for i in kept],
        "hovertext": [_words(bars[i], labels[i], table) for i in kept],
        "hoverinfo": "text",
        "customdata": [f"/trials/{bars[i].trial}" for i in kept],
    }


def _star(place: int, winner: TrialRow) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "text",
        "x": [place],
        "y": [winner.area],
        "text": ["★"],
        "textposition": "top center",
        "textfont": {"color": WINNER, "size": 15},
        "hoverinfo": "skip",
    }


def _pruned(rows: Sequence[TrialRow], first: int) -> dict[str, Any]:
    return {
        "type": "bar",
        "x": list(range(first, first + len(rows))),
        "y": [row.area for row in rows],
        "marker": {"color": "rgba(0,0,0,0)", "line": {"color": MUTED, "width": 1}, "pattern": {"shape": "/"}},
        "hovertext": [f"pruned under another threshold<br>area so far {measure(row.area or 0.0)}" for row in rows],
        "hoverinfo": "text",
        "customdata": [f"/trials/{row.trial}" for row in rows],
    }


def _words(row: TrialRow, label: str, table: TrialTable) -> str:
    loss = "" if row.minimum_loss is None else f"<br>minimum loss {measure(row.minimum_loss)}"
    seeds = f"<br>mean of {row.repeats} seeds" if row.repeats > 1 else ""
    area = f"area {measure(row.area or 0.0)} over {table.over}"
    return f"{safe(label)}<br>{area}{loss}{seeds}{'<br>derived' if row.derived else ''}"
