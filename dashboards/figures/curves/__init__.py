"""The loss curves of the best trial of each group, or of chosen trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboards.figures.base import Figure, Source
from dashboards.figures.curves.table import CurveTable, chosen_curves, curve_table, curves_csv, followed_curves
from dashboards.figures.tables import EPOCHS
from sweeper.spec import OVER

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


class Curves(Figure[CurveTable]):
    """See `dashboards.figures.base.Figure`."""

    name = "curves"
    help = "Loss curves of the best trial of each worker count."
    title = "Loss curves"
    description = "loss of the chosen trials, by default the best of each group and those that run"
    of_chosen = True
    axes = (*OVER, EPOCHS)

    def table(self, source: Source) -> CurveTable:
        """See `chosen_curves` and `curve_table`."""
        if source.chosen:
            return chosen_curves(source.store, source.trials, source.chosen)
        return curve_table(source.store, source.trials)

    def draw(self, table: CurveTable) -> Drawing:
        """See `drawing.draw_curves`."""
        from dashboards.figures.curves.drawing import draw_curves

        return draw_curves(table)

    def csv(self, table: CurveTable) -> str:
        """See `curves_csv`."""
        return curves_csv(table)

    def plotly(self, source: Source) -> dict[str, Any]:
        """See `plotly.curves_plot`."""
        from dashboards.figures.curves.plotly import curves_plot

        return curves_plot(followed_curves(source.store, source.trials, source.chosen))


FIGURE = Curves()
