"""The figures: each a function of a table that returns a matplotlib `Figure`."""

from dashboards.figures.accuracy import draw_accuracy
from dashboards.figures.comparison import draw_comparison
from dashboards.figures.coordinates import draw_coordinates
from dashboards.figures.curves import draw_curves
from dashboards.figures.heatmap import draw_heatmap
from dashboards.figures.histogram import draw_histogram
from dashboards.figures.phases import draw_phases
from dashboards.figures.scaling import draw_scaling

__all__ = [
    "draw_accuracy",
    "draw_comparison",
    "draw_coordinates",
    "draw_curves",
    "draw_heatmap",
    "draw_histogram",
    "draw_phases",
    "draw_scaling",
]
