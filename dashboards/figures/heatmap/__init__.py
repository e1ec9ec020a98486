"""The heatmap: areas by batch size and learning rate, one panel for each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboards.figures.base import Figure, Source
from dashboards.figures.heatmap.table import Areas, areas
from dashboards.figures.tables.csv_text import trials_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


class Heatmap(Figure[Areas]):
    """See `dashboards.figures.base.Figure`."""

    name = "heatmap"
    help = "Areas by batch size and learning rate, the winners marked."
    title = "Areas"
    description = (
        "area under the loss curve by batch size and learning rate; the winner is outlined, what else may be the best "
        "has a dashed outline"
    )

    def table(self, source: Source) -> Areas:
        """See `table.areas`."""
        return areas(source.trials, source.answers(True))

    def draw(self, table: Areas) -> Drawing:
        """See `drawing.draw_heatmap`."""
        from dashboards.figures.heatmap.drawing import draw_heatmap

        return draw_heatmap(table.trials, table.not_ruled_out or ())

    def csv(self, table: Areas) -> str:
        """See `trials_csv`."""
        return trials_csv(table.trials, table.not_ruled_out)

    def plotly(self, source: Source) -> dict[str, Any]:
        """See `plotly.heatmap_plot`."""
        from dashboards.figures.heatmap.plotly import heatmap_plot

        shown = areas(source.trials, source.answers(False))  # nobody waits for the model to see the areas
        return heatmap_plot(shown.trials, source.doubtful(), shown.not_ruled_out or ())


FIGURE = Heatmap()
