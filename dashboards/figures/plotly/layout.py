"""What the plots share: colours, axes, and texts that Plotly takes for nothing but texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dashboards.figures.words.numbers import printable

SERIES = tuple(f"var(--series-{number})" for number in range(1, 8))
DASHES = ("solid", "dash", "dot", "dashdot")
WINNER, BAR, MUTED, BAD = "var(--winner)", "var(--bar)", "var(--muted)", "var(--bad)"


def safe(text: str) -> str:
    """A text of any origin: Plotly takes some of HTML for its own, such as `<b>` in a name."""
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def series(place: int) -> str:
    """Colour of the line at this place."""
    return SERIES[place % len(SERIES)]


def dash(place: int) -> str:
    """Dashes of the line at this place, another kind each time that the colours begin anew."""
    return DASHES[place // len(SERIES) % len(DASHES)]


def panel(title: str, data: Sequence[dict[str, Any]], height: int, **layout: Any) -> dict[str, Any]:
    """One plot with its title; `height` in pixels."""
    return {"title": printable(title), "data": list(data), "layout": layout, "height": height}


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """An axis and its title."""
    return {"title": {"text": title}, "automargin": True, **more}
