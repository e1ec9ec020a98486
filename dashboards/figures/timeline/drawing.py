"""The timeline: a bar for each gang's time, lane over lane."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from dashboards.figures.drawing import style
from dashboards.figures.drawing.axis_numbers import AxisNumbers
from dashboards.figures.drawing.panels import title
from dashboards.figures.timeline.table import TimelineTable, merged_parts
from sweeper.answers.timeline import OFF_THE_CLOCK, PARTS, SET_UP, START, TRAINING, GangTime

_WIDTH = 11.0  # inches
_LANE_INCHES = 0.5
_MOST_LANES = 400
_HEIGHT = 0.62  # of a lane
COLOURS = {START: "#8fa1b3", SET_UP: "#e69f00", TRAINING: "#0072b2", OFF_THE_CLOCK: "#cc79a7"}
_IDLE = "#e8eaed"


@style.drawing()
def draw_timeline(table: TimelineTable) -> Figure:
    """The parts of each gang's time against seconds since the first one's start; pale where a gang waited.

    Gangs of one worker count share a lane as long as they follow each other. A tick marks where one begins.
    """
    lanes = len(table.lane_names)
    figure = style.new_figure(_WIDTH, min(1.7 + _LANE_INCHES * lanes, 1.7 + _LANE_INCHES * _MOST_LANES))
    axes = figure.add_subplot()
    for gang in table.time.gangs:
        _draw_gang(axes, table, gang)
    axes.set_yticks(range(lanes), table.lane_names)
    axes.set(xlim=(0.0, table.time.seconds or 1.0), ylim=(lanes - 0.4, -0.6), xlabel="s since the first gang's start")
    axes.xaxis.set_major_formatter(AxisNumbers())
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    title(figure, table.trials.name, table.words, _WIDTH)
    shown = [name for name in PARTS if table.time.spent(name)]
    handles = [Patch(facecolor=COLOURS[name], label=name) for name in shown]
    figure.legend(handles=[*handles, Patch(facecolor=_IDLE, label="idle")], loc="outside lower left", ncols=5)
    return figure


def _draw_gang(axes: Axes, table: TimelineTable, gang: GangTime) -> None:
    low = gang.lane - _HEIGHT / 2
    axes.broken_barh([(gang.begin, gang.end - gang.begin)], (low, _HEIGHT), facecolor=_IDLE)
    parts = list(merged_parts(table.time, gang))
    for name in (TRAINING, OFF_THE_CLOCK, SET_UP, START):  # what is short is not hidden
        bars = [(part.begin, part.end - part.begin) for part in parts if part.name == name]
        if bars:
            axes.broken_barh(bars, (low, _HEIGHT), facecolor=COLOURS[name], linewidth=0)
    axes.vlines(gang.begin, low - 0.08, low + _HEIGHT + 0.08, color=style.INK, linewidth=0.8)
