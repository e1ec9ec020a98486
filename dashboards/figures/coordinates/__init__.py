"""Parallel coordinates: every parameter that varies, with area and minimum loss, a line for each trial."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboards.figures.base import Figure, Source
from dashboards.figures.coordinates.table import CoordinateTable, coordinate_table, coordinates_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from sweeper.store import SweepRecord

_AXES_OF_HEATMAPS = 3  # workers, batch size, learning rate


class Coordinates(Figure[CoordinateTable]):
    """See `dashboards.figures.base.Figure`."""

    name = "coordinates"
    help = "All varied parameters as parallel axes, a line per trial."
    title = "Parallel coordinates"
    description = "every parameter that varies, with area and minimum loss"

    def table(self, source: Source) -> CoordinateTable:
        """See `coordinate_table`."""
        return coordinate_table(source.trials)

    def draw(self, table: CoordinateTable) -> Drawing:
        """See `drawing.draw_coordinates`."""
        from dashboards.figures.coordinates.drawing import draw_coordinates

        return draw_coordinates(table)

    def csv(self, table: CoordinateTable) -> str:
        """See `coordinates_csv`."""
        return coordinates_csv(table)

    def plotly(self, source: Source) -> dict[str, Any]:
        """See `plotly.coordinates_plot`."""
        from dashboards.figures.coordinates.plotly import coordinates_plot

        return coordinates_plot(self.table(source))

    def suits(self, sweep: SweepRecord) -> bool:
        """More axes than a heatmap for each worker count can show."""
        return len((sweep.spec.written or {}).get("space", {})) > _AXES_OF_HEATMAPS


FIGURE = Coordinates()
