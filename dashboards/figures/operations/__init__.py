"""The operations of a step: how long each takes on how many workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboards.figures.base import Figure, Source
from dashboards.figures.operations.table import OperationTable, operation_table, operations_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


class Operations(Figure[OperationTable]):
    """See `dashboards.figures.base.Figure`."""

    name = "operations"
    help = "Seconds per step of each operation, by worker count."
    title = "Operations"
    description = "mean time of a step's operations, by number of workers"

    def table(self, source: Source) -> OperationTable:
        """See `operation_table`."""
        return operation_table(source.store, source.trials)

    def draw(self, table: OperationTable) -> Drawing:
        """See `drawing.draw_operations`."""
        from dashboards.figures.operations.drawing import draw_operations

        return draw_operations(table)

    def csv(self, table: OperationTable) -> str:
        """See `operations_csv`."""
        return operations_csv(table)

    def plotly(self, source: Source) -> dict[str, Any]:
        """See `plotly.operations_plot`."""
        from dashboards.figures.operations.plotly import operations_plot

        return operations_plot(self.table(source))


FIGURE = Operations()
