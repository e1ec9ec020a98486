"""Tables and figures of the study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.fused_fc.limits import limits_of
from experiments.fused_fc.running import BANDWIDTH, CLASSIFIER, LAYER, PAD, PAPER
from experiments.study import Study

Row = dict[str, Any]  # of the operators' benchmark, with the question that it answers
_PRODUCTS_A_LAYER = 3  # forward, and backward by input and by weight
_SHIFT = ["where", "matrix", "type", "operator"]
_TIMES = ["µs", "its µs", "ratio"]


def show(study: Study) -> None:
    """Make all of them."""
    from experiments.fused_fc.drawing import draw_layers, draw_realignment

    rows = [{**row, "where": where} for where in ("CPU", "GPU") for row in study.measured(where.lower())]
    by = {question: [row for row in rows if row["question"] == question] for question in _QUESTIONS}
    rates = [*_SHIFT, "GB/s", "a copy's GB/s", "of a copy", "of the data sheet"]
    study.table(BANDWIDTH, rates, [_bandwidth(row) for row in by[BANDWIDTH]])
    for question in (PAPER, PAD):
        shifts = [[*_shift(row), *_times(row)] for row in by[question]]
        study.table(question, [*_SHIFT, "µs", f"{_RIVALS[question]}, µs", "ratio"], shifts)
    layers = ["where", "rows x inputs x outputs", "type", "µs", "TFLOP/s", "of the data sheet", "beside", *_TIMES[1:]]
    study.table(LAYER, layers, [_layer(row) for row in by[LAYER]])
    classifiers = ["where", "batch", "type", "µs", "beside", *_TIMES[1:]]
    study.table(CLASSIFIER, classifiers, [_classifier(row) for row in by[CLASSIFIER]])
    study.table("hardware", ["where", "hardware", "runs of each row", "largest spread", "versions"], _hardware(rows))
    study.figure("realignment", draw_realignment([*by[PAPER], *by[PAD]]))
    study.figure("layers", draw_layers(by[CLASSIFIER]))


_QUESTIONS = (BANDWIDTH, PAD, PAPER, LAYER, CLASSIFIER)
_RIVALS = {PAPER: "the paper's kernels", PAD: "F.pad out of place"}


def _bandwidth(row: Row) -> list[str]:
    known = limits_of(row["hardware"])
    share = _share(row["value"], known.memory if known else None)
    return [*_shift(row), f"{row['value']:,.1f}", f"{row['baseline_value']:,.1f}", f"{row['ratio']:.2f}", share]


def _layer(row: Row) -> list[str]:
    rows, inputs, outputs = row["shape"]
    rate = 2 * _PRODUCTS_A_LAYER * rows * inputs * outputs / row["value"] / 1e6
    peak = known.products.get(row["type"]) if (known := limits_of(row["hardware"])) else None
    share = _share(rate, peak)
    name = " x ".join(map(str, row["shape"]))
    figures = [f"{row['value']:,.1f}", f"{rate:.3g}", share, row["baseline"]]
    return [row["where"], name, row["type"], *figures, *_times(row)[1:]]


def _share(rate: float, peak: float | None) -> str:
    """A rate as a share of the data sheet's; "-" where that is not known."""
    if not peak:
        return "-"
    return "<0.01" if rate / peak < 0.005 else f"{rate / peak:.2f}"


def _classifier(row: Row) -> list[str]:
    ours, theirs, ratio = _times(row)
    return [row["where"], str(row["shape"][0]), row["type"], ours, row["baseline"], theirs, ratio]


def _shift(row: Row) -> list[str]:
    rows, cols = row["shape"]
    return [row["where"], f"{rows} x {cols}", row["type"], f"`{row['name'].split()[0]}`"]


def _times(row: Row) -> list[str]:
    return [f"{row['value']:,.1f}", f"{row['baseline_value']:,.1f}", f"{row['ratio']:.2f}"]


def _hardware(rows: Sequence[Row]) -> list[list[str]]:
    found = []
    for where in dict.fromkeys(row["where"] for row in rows):
        here = [row for row in rows if row["where"] == where]
        used = ", ".join(f"{name} {version}" for name, version in here[0]["versions"].items())
        spread = max(row["spread"] for row in here)
        found.append([where, here[0]["hardware"], str(here[0]["n"]), f"{spread:.0%}", used])
    return found
