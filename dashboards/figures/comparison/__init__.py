"""Two sweeps side by side: the difference of their areas in each cell, one panel for each worker count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboards.figures.base import Figure, Source
from dashboards.figures.comparison.table import Comparison, comparison, comparison_csv
from dashboards.figures.tables import check_areas
from sweeper.answers.differences import spec_differences

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


class Comparing(Figure[Comparison]):
    """See `dashboards.figures.base.Figure`."""

    name = "comparison"
    help = "Areas of two sweeps: the difference in each cell."
    title = "Difference of areas"
    description = "share by which the area of the second is larger or smaller than that of the first, in each cell"
    command = "compare"
    compares = True

    def table(self, source: Source) -> Comparison:
        """See `table.comparison`."""
        assert source.before is not None, "a comparison takes two sweeps"
        first, second = source.before, source.trials
        for trials in (first, second):
            check_areas(trials)
        records = [source.store.sweeps.find(table.sweep) for table in (first, second)]
        return comparison(first, second, spec_differences(*records), unlike=source.unlike)

    def draw(self, table: Comparison) -> Drawing:
        """See `drawing.draw_comparison`."""
        from dashboards.figures.comparison.drawing import draw_comparison

        return draw_comparison(table)

    def csv(self, table: Comparison) -> str:
        """See `comparison_csv`."""
        return comparison_csv(table)

    def plotly(self, source: Source) -> dict[str, Any]:
        """See `plotly.comparison_plot`."""
        from dashboards.figures.comparison.plotly import comparison_plot

        return comparison_plot(self.table(source))


FIGURE = Comparing()
