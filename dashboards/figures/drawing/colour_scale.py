"""Colours for areas: one scale for all panels of a figure, with its bar and the ink that reads on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullLocator

from dashboards.figures.drawing import style
from dashboards.figures.drawing.axis_numbers import AxisNumbers

Colour = tuple[float, float, float, float]
_LOGARITHMIC_FROM = 3.0  # times the smallest area, the largest from which steps are ratios
_DARK = 0.18  # relative luminance below which white contrasts more than the dark ink


@dataclass(frozen=True)
class ColourScale:
    """Colours of areas from `low` to `high`: the smaller, the darker; by ratios where they differ by much."""

    low: float
    high: float

    @classmethod
    def of(cls, areas: Sequence[float]) -> ColourScale:
        """The scale that spans these areas; of none it is any, and has no bar."""
        return cls(min(areas, default=0.0), max(areas, default=0.0))

    @property
    def logarithmic(self) -> bool:
        """Whether equal steps of colour are equal ratios of areas."""
        return self.low > 0 and self.high / self.low > _LOGARITHMIC_FROM

    @property
    def norm(self) -> Normalize:
        """matplotlib's map from areas to 0..1; a single area stands in the middle."""
        if self.low == self.high:
            return Normalize(self.low - 1, self.high + 1)
        return LogNorm(self.low, self.high) if self.logarithmic else Normalize(self.low, self.high)

    def colour(self, area: float) -> Colour:
        """Red, green, blue and alpha, 0 to 1."""
        red, green, blue, alpha = matplotlib.colormaps[style.SEQUENTIAL](float(self.norm(area)))
        return (float(red), float(green), float(blue), float(alpha))

    def ticks(self) -> list[float]:
        """Round areas within the scale, about half a dozen."""
        if self.logarithmic:
            decades = math.log10(self.high / self.low)
            steps = [1, 1.5, 2, 3, 5, 7] if decades < 1.5 else [1, 2, 5] if decades < 3 else [1]
            ticks = LogLocator(subs=steps).tick_values(self.low, self.high)
        else:
            ticks = MaxNLocator(6).tick_values(self.low, self.high)
        return [float(tick) for tick in ticks if self.low <= tick <= self.high]

    def draw_bar(self, figure: Figure, axes: Sequence[Axes], label: str) -> None:
        """A bar beside the panels; none where it would have a single colour."""
        if self.low == self.high:
            return
        mapped = ScalarMappable(self.norm, matplotlib.colormaps[style.SEQUENTIAL])
        bar = figure.colorbar(mapped, ax=list(axes), pad=0.02, aspect=30, fraction=0.05)
        bar.ax.yaxis.set_major_locator(FixedLocator(self.ticks()))
        bar.ax.yaxis.set_minor_locator(NullLocator())
        bar.ax.yaxis.set_major_formatter(AxisNumbers())
        bar.ax.spines[:].set_visible(False)
        bar.set_label(label)


def ink_on(fill: Colour) -> str:
    """White or dark, whichever contrasts more with a colour."""
    return "white" if luminance(fill) < _DARK else style.INK


def luminance(fill: Colour) -> float:
    """The relative luminance of a colour as in WCAG 2, from 0 (black) to 1 (white)."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in fill[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
