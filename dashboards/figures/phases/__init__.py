"""The phases of training: what its time went into, a bar for each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboards.figures.base import Figure, Source
from dashboards.figures.phases.table import PhaseTable, phase_table, phases_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


class Phases(Figure[PhaseTable]):
    """See `dashboards.figures.base.Figure`."""

    name = "phases"
    help = "What the training time went into, by worker count."
    title = "Phases"
    description = "what the time of training went into, by group"

    def table(self, source: Source) -> PhaseTable:
        """See `phase_table`."""
        return phase_table(source.store, source.trials)

    def draw(self, table: PhaseTable) -> Drawing:
        """See `drawing.draw_phases`."""
        from dashboards.figures.phases.drawing import draw_phases

        return draw_phases(table)

    def csv(self, table: PhaseTable) -> str:
        """See `phases_csv`."""
        return phases_csv(table)

    def plotly(self, source: Source) -> dict[str, Any]:
        """See `plotly.phases_plot`."""
        from dashboards.figures.phases.plotly import phases_plot

        return phases_plot(self.table(source))


FIGURE = Phases()
