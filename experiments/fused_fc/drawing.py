"""Times of realignment and of the network's fully connected layers, ours beside others'."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.figure import Figure

from dashboards.figures.drawing import style
from dashboards.figures.drawing.panels import title
from experiments.doublings import along_doublings, draw_line, spans_a_decade
from experiments.fused_fc.running import PAD, PAPER

Row = dict[str, Any]
_WIDTH = 9.0  # inches


@style.drawing()
def draw_realignment(rows: Sequence[Row]) -> Figure:
    """Microseconds of a shift to the right of square matrices in float32, the paper's way, ours, and `F.pad`'s."""
    some = [row for row in rows if row["shape"][0] == row["shape"][1] and row["type"] == "float32"]
    right = [row for row in some if row["name"].startswith("shift_right_")]

    def lines(here: Sequence[Row]) -> dict[str, list[tuple[int, float]]]:
        ours = {row["shape"][0]: row["value"] for row in here}
        return {
            "shift_right_, in place": sorted(ours.items()),
            "the paper's kernels, in place": _others(here, PAPER),
            "F.pad, into another matrix": _others(here, PAD),
        }

    words = "a column of ones put in front of a square matrix, float32, median of runs"
    return _panels("Realignment", right, lines, words, "rows and columns")


def _others(here: Sequence[Row], question: str) -> list[tuple[int, float]]:
    return sorted((row["shape"][0], row["baseline_value"]) for row in here if row["question"] == question)


@style.drawing()
def draw_layers(rows: Sequence[Row]) -> Figure:
    """Microseconds forward and backward through the paper's three fully connected layers, against the batch."""

    def lines(here: Sequence[Row]) -> dict[str, list[tuple[int, float]]]:
        found: dict[str, list[tuple[int, float]]] = {}
        for row in here:
            batch, kind = row["shape"][0], row["type"]
            ours = found.setdefault(f"FusedMLP, {kind}", [])
            if all(at != batch for at, _ in ours):
                ours.append((batch, row["value"]))
            found.setdefault(f"{row['baseline']}, {kind}", []).append((batch, row["baseline_value"]))
        return found

    words = "layers of 576-64-32-10, forward and backward, median of runs"
    return _panels("Fused fully connected layers", rows, lines, words, "batch")


def _panels(
    name: str,
    rows: Sequence[Row],
    lines: Callable[[Sequence[Row]], dict[str, list[tuple[int, float]]]],
    words: str,
    along: str,
) -> Figure:
    """A panel for the CPU and one for the GPU, those that are measured, under the figure's name.

    A line that lacks points of others is drawn as markers alone: nobody knows what lies between them.
    """
    places = list(dict.fromkeys(row["where"] for row in rows))
    labels = max((len(lines([row for row in rows if row["where"] == where])) for where in places), default=0)
    figure = style.new_figure(_WIDTH, 3.9 + 0.2 * labels)
    grid = figure.subplots(1, len(places), squeeze=False).ravel().tolist()
    for axes, where in zip(grid, places, strict=True):
        found = lines([row for row in rows if row["where"] == where])
        steps = {at for line in found.values() for at, _ in line}
        for place, (label, line) in enumerate(found.items()):
            at, values = [one for one, _ in line], [value for _, value in line]
            draw_line(axes, place, at, values, label, joined=steps <= set(at))
        points = [point for line in found.values() for point in line]
        logarithmic = spans_a_decade([value for _, value in points])
        along_doublings(axes, sorted({at for at, _ in points}), along, logarithmic=logarithmic)
        axes.set(title=where, ylabel="µs")
        axes.legend(loc="upper left", bbox_to_anchor=(-0.02, -0.16))
    title(figure, name, words, _WIDTH)
    return figure
