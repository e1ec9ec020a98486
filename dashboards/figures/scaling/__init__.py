"""Scaling: throughput, parallel efficiency, training time and cost, times to threshold and accuracy by worker count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboards.figures.base import Figure, Source
from dashboards.figures.scaling.table import ScalingTable, scaling_csv, scaling_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


class Scaling(Figure[ScalingTable]):
    """See `dashboards.figures.base.Figure`."""

    name = "scaling"
    help = "Throughput, efficiency, time and cost by workers."
    title = "Scaling"
    description = "throughput, parallel efficiency, training time and time to the threshold by worker count"
    choices = ("accuracy", "images", "forecast", "with_sweeps")

    def table(self, source: Source) -> ScalingTable:
        """See `scaling_table`."""
        return scaling_table(source.store, source.trials, source.choices, source.others)

    def draw(self, table: ScalingTable) -> Drawing:
        """See `drawing.draw_scaling`."""
        from dashboards.figures.scaling.drawing import draw_scaling

        return draw_scaling(table)

    def csv(self, table: ScalingTable) -> str:
        """See `scaling_csv`."""
        return scaling_csv(table)

    def plotly(self, source: Source) -> dict[str, Any]:
        """See `plotly.scaling_plot`."""
        from dashboards.figures.scaling.plotly import scaling_plot

        return scaling_plot(self.table(source))


FIGURE = Scaling()
