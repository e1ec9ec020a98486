"""The histogram of the paper's figures 5.1 to 5.4: qualified areas, sorted by minimum loss."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from dashboards.figures.drawing import style
from dashboards.figures.drawing.axis_numbers import AxisNumbers
from dashboards.figures.drawing.panels import WORDS_HEIGHT, arrange
from dashboards.figures.drawing.wrapping import wrap
from dashboards.figures.histogram.table import bar_labels, sorted_bars
from dashboards.figures.tables import TrialGroup, TrialRow, TrialTable
from dashboards.figures.words.labels import (
    area_unit,
    batch_word,
    group_name,
    nearest_name,
    result_name,
    seeds_name,
    threshold_name,
)
from dashboards.figures.words.numbers import measure

_BAR_INCHES = 0.19
_MOST_LABELS = 90  # more bars than that are named by the title alone, for the winner
_FEW = 12  # bars up to here have room for level labels and for their areas
_HEIGHT = 1.9
_MINIMUM_WIDTH, _MAXIMUM_WIDTH = 6.5, 18.0
_LOGARITHMIC_FROM = 60.0  # times the smallest area, the largest from which bars are drawn on a logarithmic axis
_NEUTRAL = "#8fa1b3"


@style.drawing()
def draw_histogram(table: TrialTable) -> Figure:
    """The areas of the qualified trials, lowest minimum loss first, one panel per group in numeric order.

    The winner, the lowest bar, is in colour with a star and named in the panel's title. Bars are labelled with batch
    size, learning rate and whatever else varies. A group where nothing qualified says so, with its best minimum loss.

    Raises:
        FigureError: more groups than a picture can hold.
    """
    most = max(len(group.qualified) for group in table.groups)
    width = min(max(_MINIMUM_WIDTH, most * _BAR_INCHES), _MAXIMUM_WIDTH)
    panels = arrange(
        table,
        width=width,
        heights=[_HEIGHT if group.winner else WORDS_HEIGHT for group in table.groups],
        subtitle=f"areas of the qualified trials by minimum loss; {threshold_name(table)}{seeds_name(table)}",
        columns=1,
    )
    bar_spaces = max(most, 6 if most <= _FEW else 18)
    for axes, group in zip(panels.axes, table.groups, strict=True):
        title = f"{group_name(group.key)}: {result_name(group, table)}"
        axes.set_title(wrap(title, width, style.TITLE_PT))
        if group.winner is None:
            _say_none(axes, group, table)
        else:
            _draw_bars(axes, group, table, bar_spaces)
    return panels.figure


def _draw_bars(axes: Axes, group: TrialGroup, table: TrialTable, bar_spaces: int) -> None:
    bars = sorted_bars(group)
    areas = [row.area or 0.0 for row in bars]
    positions = range(len(bars))
    colours = [style.WINNER if row.winner else _NEUTRAL for row in bars]
    axes.bar(positions, areas, width=0.78, color=colours)
    axes.set_xlim(-0.7, bar_spaces - 0.3)
    _scale(axes, areas)
    axes.set_ylabel(f"area, {area_unit(table.over)}")
    few = bar_spaces <= _FEW
    winner = next(place for place in positions if bars[place].winner)
    axes.annotate(
        "★",
        (winner, max(areas[winner], 0.0)),
        (0, 1 if not few else 11),
        textcoords="offset points",
        ha="center",
        va="bottom",
        color=style.WINNER,
        fontsize=style.TITLE_PT,
    )
    if few:
        for place, value in zip(positions, areas, strict=True):
            axes.annotate(
                measure(value),
                (place, max(value, 0.0)),
                (0, 2),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=8,
            )
    _name_bars(axes, bars, winner, few=few)
    axes.set_xlabel(_axis_label(bars, table), loc="left")


def _scale(axes: Axes, areas: Sequence[float]) -> None:
    """Linear from zero, unless the smallest bars (the winner's, that is) would be too low to see."""
    if min(areas) > 0 and max(areas) > _LOGARITHMIC_FROM * min(areas):
        axes.set_yscale("log")
        axes.set_ylim(min(areas) / 2, max(areas) * 2)
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.margins(y=0.18)
        axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(AxisNumbers())
    axes.grid(axis="y")


def _name_bars(axes: Axes, bars: Sequence[TrialRow], winner: int, *, few: bool) -> None:
    if len(bars) > _MOST_LABELS:
        axes.set_xticks([])
        return
    labels = bar_labels(bars)
    level = few and max(map(len, labels)) <= 12
    axes.set_xticks(range(len(bars)), labels, rotation=0 if level else 90, fontsize=8 if level else style.SMALL_PT)
    axes.tick_params(axis="x", length=0, pad=3)
    axes.get_xticklabels()[winner].set(color=style.WINNER, fontweight="bold")


def _axis_label(bars: Sequence[TrialRow], table: TrialTable) -> str:
    names = [f"{batch_word(table)} size"] if any(row.batch_size is not None for row in bars) else []
    names += ["learning rate"] if any(row.learning_rate is not None for row in bars) else []
    names += [name.rpartition(".")[2] for name in bars[0].others]
    losses = [row.minimum_loss for row in bars if row.minimum_loss is not None]
    ends = dict.fromkeys(measure(loss) for loss in (losses[:1] + losses[-1:]))
    span = f", by minimum loss: {' to '.join(ends)}" if ends else ""
    return f"{' / '.join(names) or 'trial'}{span}"


def _say_none(axes: Axes, group: TrialGroup, table: TrialTable) -> None:
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    axes.text(
        0.0,
        0.9,
        nearest_name(group, table),
        transform=axes.transAxes,
        va="top",
        color=style.MUTED,
        fontsize=style.TITLE_PT,
    )
