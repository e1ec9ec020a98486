"""The accuracy on the test set, or the error, of the best trial of each group, or of chosen trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboards.figures.accuracy.table import AccuracyTable, accuracies_csv, accuracy_table, chosen_accuracies
from dashboards.figures.base import Figure, Source
from dashboards.figures.tables import EPOCHS
from sweeper.spec import OVER

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


class Accuracy(Figure[AccuracyTable]):
    """See `dashboards.figures.base.Figure`."""

    name = "accuracy"
    help = "Accuracy on the test set over time, of the best trials."
    title = "Accuracy"
    description = "accuracy on the test set of the best trial of each group"
    of_chosen = True
    axes = (*OVER, EPOCHS)
    choices = ("error",)

    def table(self, source: Source) -> AccuracyTable:
        """See `chosen_accuracies` and `accuracy_table`."""
        error = source.choices.error
        if source.chosen:
            return chosen_accuracies(source.store, source.trials, source.chosen, error=error)
        return accuracy_table(source.store, source.trials, error=error)

    def draw(self, table: AccuracyTable) -> Drawing:
        """See `drawing.draw_accuracy`."""
        from dashboards.figures.accuracy.drawing import draw_accuracy

        return draw_accuracy(table)

    def csv(self, table: AccuracyTable) -> str:
        """See `accuracies_csv`."""
        return accuracies_csv(table)

    def plotly(self, source: Source) -> dict[str, Any]:
        """See `plotly.accuracy_plot`."""
        from dashboards.figures.accuracy.plotly import accuracy_plot

        return accuracy_plot(self.table(source))


FIGURE = Accuracy()
