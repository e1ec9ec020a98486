"""The figures of a sweep, a folder each: its table, its matplotlib drawing, its Plotly drawing and its CSV.

`FIGURES` is the only list of them. Importing it loads neither matplotlib nor Plotly.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from dashboards.figures.base import Answers, Choices, Figure, Source

__all__ = ["FIGURES", "Answers", "Choices", "Figure", "Source"]

_FOLDERS = (  # in the order of a sweep's page
    "heatmap",
    "candidates",
    "curves",
    "accuracy",
    "histogram",
    "coordinates",
    "phases",
    "operations",
    "scaling",
    "timeline",
    "comparison",
)


def _figure_in(folder: str) -> Figure[Any]:
    figure: Figure[Any] = import_module(f"{__name__}.{folder}").FIGURE
    return figure


FIGURES: Mapping[str, Figure[Any]] = {folder: _figure_in(folder) for folder in _FOLDERS}
"""Every figure by its name."""
