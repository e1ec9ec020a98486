"""The settings that may be the best: what their areas are expected to be, and how likely each is the best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboards.figures.base import Figure, Source
from dashboards.figures.candidates.table import CandidateTable, candidate_table, candidates_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


class Candidates(Figure[CandidateTable]):
    """See `dashboards.figures.base.Figure`."""

    name = "candidates"
    help = "The settings that may be the best, and how likely."
    title = "What may be the best"
    description = "expected areas of the settings that are not ruled out, and the chance of each to be the best"

    def table(self, source: Source) -> CandidateTable:
        """See `table.candidate_table`."""
        return candidate_table(source)

    def draw(self, table: CandidateTable) -> Drawing:
        """See `drawing.draw_candidates`."""
        from dashboards.figures.candidates.drawing import draw_candidates

        return draw_candidates(table)

    def csv(self, table: CandidateTable) -> str:
        """See `table.candidates_csv`."""
        return candidates_csv(table)

    def plotly(self, source: Source) -> dict[str, Any]:
        """See `plotly.candidates_plot`."""
        from dashboards.figures.candidates.plotly import candidates_plot

        return candidates_plot(self.table(source))


FIGURE = Candidates()
