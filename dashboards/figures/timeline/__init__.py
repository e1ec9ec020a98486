"""The timeline: what each gang did when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboards.figures.base import Figure, Source
from dashboards.figures.timeline.table import TimelineTable, timeline_csv, timeline_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from sweeper.store import SweepRecord


class TimelineFigure(Figure[TimelineTable]):
    """See `dashboards.figures.base.Figure`."""

    name = "timeline"
    help = "When each gang started, set up, trained and idled."
    title = "Timeline"
    description = "what each gang did when: it started, set up, trained or was idle"

    def table(self, source: Source) -> TimelineTable:
        """See `timeline_table`."""
        return timeline_table(source.store, source.trials)

    def draw(self, table: TimelineTable) -> Drawing:
        """See `drawing.draw_timeline`."""
        from dashboards.figures.timeline.drawing import draw_timeline

        return draw_timeline(table)

    def csv(self, table: TimelineTable) -> str:
        """See `timeline_csv`."""
        return timeline_csv(table)

    def plotly(self, source: Source) -> dict[str, Any]:
        """See `plotly.timeline_plot`."""
        from dashboards.figures.timeline.plotly import timeline_plot

        return timeline_plot(self.table(source))

    def suits(self, sweep: SweepRecord) -> bool:
        """A sweep that ran here: what was imported had no gangs."""
        return sweep.spec.written is not None


FIGURE = TimelineFigure()
