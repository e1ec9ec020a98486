"""The histogram of the paper's figures 5.1 to 5.4: qualified areas, sorted by minimum loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboards.figures.base import Figure, Source
from dashboards.figures.tables import TrialTable, check_areas
from dashboards.figures.tables.csv_text import trials_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


class Histogram(Figure[TrialTable]):
    """See `dashboards.figures.base.Figure`."""

    name = "histogram"
    help = "Areas of the qualified trials, sorted by minimum loss."
    title = "Areas by minimum loss"
    description = "areas of the qualified trials, lowest minimum loss first"

    def table(self, source: Source) -> TrialTable:
        """The trials themselves, of which some must have an area."""
        check_areas(source.trials)
        return source.trials

    def draw(self, table: TrialTable) -> Drawing:
        """See `drawing.draw_histogram`."""
        from dashboards.figures.histogram.drawing import draw_histogram

        return draw_histogram(table)

    def csv(self, table: TrialTable) -> str:
        """See `trials_csv`."""
        return trials_csv(table)

    def plotly(self, source: Source) -> dict[str, Any]:
        """See `plotly.histogram_plot`."""
        from dashboards.figures.histogram.plotly import histogram_plot

        return histogram_plot(self.table(source), source.doubtful())


FIGURE = Histogram()
