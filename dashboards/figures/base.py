"""The contract of a figure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

from sweeper.spec import OVER

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from dashboards.figures.tables import TrialTable
    from sweeper.store import Store, SweepRecord

Table = TypeVar("Table")
Answers: TypeAlias = Sequence["Mapping[str, Any]"]  # of `sweeper best`, one for each group of the trials


@dataclass(frozen=True)
class Choices:
    """What a reader may ask of some figures, beside how trials are ranked. A figure reads those that it names.

    `error` asks for the share of the test set that is wrong, in place of the accuracy. `accuracy` is one to be reached,
    in (0, 1]. `forecast` are worker counts to be predicted. `with_sweeps` refers to further sweeps to be drawn.
    `images` is a number of them, above 0, whose time and cost are shown in place of a whole trial's.
    """

    error: bool = False
    accuracy: float | None = None
    forecast: tuple[int, ...] = ()
    with_sweeps: tuple[str, ...] = ()
    images: int | None = None


@dataclass(frozen=True)
class Source:
    """What a figure's table is made from.

    `trials` are the sweep's trials, ranked as the reader asked. `before` are those of the sweep that it is compared
    with; only figures with `compares` read them, and compare areas over `unlike` budgets or by unlike thresholds only
    where asked to. `chosen` are ids of trials that the reader has picked; only figures
    with `of_chosen` read them. `doubtful` finds the pruned trials that might have won. It ranks the whole sweep, so a
    figure calls it only if it shows them. `answers` gives what `sweeper best` says of each group, in the order of the
    trials' groups. What it recommends takes seconds to compute: with False it is there only if it is known already, and
    so it is while trials run on the machine that shows a page. `choices` are what the reader asked of this figure,
    `others` the trials of the sweeps that are drawn with this one.
    """

    store: Store
    trials: TrialTable
    before: TrialTable | None = None
    unlike: bool = False
    chosen: tuple[str, ...] = ()
    doubtful: Callable[[], Collection[str]] = frozenset
    answers: Callable[[bool], Answers] = lambda _: ()
    choices: Choices = Choices()
    others: tuple[TrialTable, ...] = ()


class Figure(Protocol[Table]):
    """One figure of a sweep: the table that it shows, and that table as a picture, a page's plot and CSV.

    A figure is a folder `dashboards/figures/NAME/` whose `__init__` holds one object of a subclass, listed in
    `dashboards.figures.FIGURES`. From there `sweeper plot`, the pages, the downloads and the tests take it; no other
    place names it.

    - `name` is the folder's name, the last part of the figure's address and of its default file name.
    - `help` is the command's help.
    - `title` and `description` head the figure on a page.
    - `command` is the subcommand of `sweeper plot`; empty for `name`.
    - `of_chosen`: the figure shows chosen trials if the reader has picked some. It is made of loss points or
      evaluations, which arrive between two requests, so pages keep no copy of it.
    - `compares`: the figure shows two sweeps. Its command takes both; a sweep's own page leaves it out.
    - `choices` names the fields of `Choices` that the figure reads: its command and `Sweep.figure` take them.
    - `axes` are what areas may be taken over. A figure that runs along the axis may have further ones.

    Everybody may call the methods, in any order and from any thread at once. `matplotlib` is loaded by `draw` and
    may be loaded by `plotly`, never by importing the folder. Missing values are None in tables, gaps in pictures and
    plots, and empty in CSV. Losses may be NaN or infinite: a plot writes None for them.
    """

    name: ClassVar[str]
    help: ClassVar[str]
    title: ClassVar[str]
    description: ClassVar[str]
    command: ClassVar[str] = ""
    of_chosen: ClassVar[bool] = False
    compares: ClassVar[bool] = False
    choices: ClassVar[tuple[str, ...]] = ()
    axes: ClassVar[tuple[str, ...]] = OVER

    def table(self, source: Source) -> Table:
        """The table that picture and CSV show; reads the store.

        Raises:
            FigureError: the sweep has nothing for this figure to show.
            NotFoundError: a chosen trial does not exist.
            StoreError: the store cannot be read.
        """

    def draw(self, table: Table) -> Drawing:
        """The table as a matplotlib figure with a canvas of its own; the same table always gives the same picture.

        Raises:
            FigureError: the table does not fit a picture, for example because it has too many groups.
        """

    def csv(self, table: Table) -> str:
        """The table as CSV: a header, then a line for each row."""

    def plotly(self, source: Source) -> dict[str, Any]:
        """The figure as `page.js` and Plotly draw it: {"panels": [{"title", "data", "layout", "height", …}], "note"}.

        It starts from the source, because a page may show more than a picture: trials that are running, and pruned
        ones in doubt. Panels stand side by side if there is room. Colours are variables of the style sheet,
        "var(--…)", so they follow the theme.

        Raises:
            FigureError, NotFoundError, StoreError: as `table` and `draw` do.
        """

    def suits(self, sweep: SweepRecord) -> bool:  # noqa: ARG002 - most figures suit every sweep
        """Whether the sweep's page shows the figure; its address and its command work in any case."""
        return True
