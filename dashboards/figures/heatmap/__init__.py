"""The heatmap: areas by batch size and learning rate, one panel for each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboards.figures.base import Figure, Source
from dashboards.figures.tables import TrialTable, check_areas
from dashboards.figures.tables.csv_text import trials_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


class Heatmap(Figure[TrialTable]):
    """See `dashboards.figures.base.Figure`."""

    name = "heatmap"
    help = "Areas by batch size and learning rate, the winners marked."
    title = "Areas"
    description = "area under the loss curve by batch size and learning rate; the winner is outlined"

    def table(self, source: Source) -> TrialTable:
        """The trials themselves, of which some must have an area."""
        check_areas(source.trials)
        return source.trials

    def draw(self, table: TrialTable) -> Drawing:
        """See `drawing.draw_heatmap`."""
        from dashboards.figures.heatmap.drawing import draw_heatmap

        return draw_heatmap(table)

    def csv(self, table: TrialTable) -> str:
        """See `trials_csv`."""
        return trials_csv(table)

    def plotly(self, source: Source) -> dict[str, Any]:
        """See `plotly.heatmap_plot`."""
        from dashboards.figures.heatmap.plotly import heatmap_plot

        return heatmap_plot(self.table(source), source.doubtful())


FIGURE = Heatmap()
