"""The figures: each a function of a table that returns a matplotlib `Figure`."""

from dashboards.figures.accuracy import draw_accuracy
from dashboards.figures.curves import draw_curves
from dashboards.figures.heatmap import draw_heatmap
from dashboards.figures.histogram import draw_histogram

__all__ = ["draw_accuracy", "draw_curves", "draw_heatmap", "draw_histogram"]
