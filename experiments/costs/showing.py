"""The tables of the study, with the calculations by hand beside what was counted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from experiments.costs.running import ALEXNET, INCEPTION, STACKS, TWO_COLUMNS, VGG19
from experiments.study import Study

Row = dict[str, Any]
_PICTURE = (224, 224, 3)  # height, width, channels


def show(study: Study) -> None:
    """Make all of them."""
    for name in (ALEXNET, TWO_COLUMNS):
        header = ["layer", "output", "calculation", "parameters", "multiply-adds"]
        study.table(name, header, list(_parameters(study.measured(name))))
    study.table(VGG19, ["layer", "activations", "parameters"], list(_vgg(study.measured(VGG19))))
    layers = [row for row in study.measured(INCEPTION) if row["kind"] != "normalisation"]
    header = ["module", "branch", "layer", "output", "calculation", "operations"]
    study.table(INCEPTION, header, [_branch(row) for row in layers])
    header = ["module", "output", "operations", "of the naive one", "saving", "parameters"]
    study.table("saving", header, list(_saving(layers)))
    header = ["filters N", "side F", "N F - N + 1", "counted", "weights of the stack", "of one large filter", "ratio"]
    study.table(STACKS, header, [_stack(row) for row in study.measured(STACKS)])


def _parameters(rows: Sequence[Row]) -> Iterator[list[str]]:
    for row in rows:
        adds = f"{row['multiply_adds']:,}" if row["multiply_adds"] else "0"
        calculation = f"{_times(_window(row))} + {row['biases']:,}" if row["weight"] else "no weights"
        yield [row["kind"], _output(row), calculation, f"{row['parameters']:,}", adds]
    totals = (f"**{sum(row[name] for row in rows):,}**" for name in ("parameters", "multiply_adds"))
    yield ["**total**", "", "", *totals]


def _vgg(rows: Sequence[Row]) -> Iterator[list[str]]:
    """The homework's table 1: parameters without biases."""
    pixels = math.prod(_PICTURE)
    yield ["Input", f"{_times(_PICTURE)} = {pixels:,}", "0"]
    for row in rows:
        places = _places(row)
        activations = f"{_times(places)} = {row['activations']:,}" if len(places) > 1 else f"{row['activations']:,}"
        weights = row["parameters"] - row["biases"]
        yield [_name(row), activations, f"{_times(_window(row))} = {weights:,}" if weights else "0"]
    yield ["**TOTAL**", f"**{sum(map(_activations, rows)) + pixels:,}**", f"**{sum(map(_weights, rows)):,}**"]


def _name(row: Row) -> str:
    """As the homework has it: CONV3-64, POOL2, FC."""
    if not row["weight"]:
        return "POOL2"
    return f"CONV{row['weight'][2]}-{row['weight'][0]}" if len(row["weight"]) == 4 else "FC"


def _branch(row: Row) -> list[str]:
    calculation = f"{_times(_places(row)[:2])} * {_times(_window(row))}" if row["weight"] else "0"
    return [
        row["module"],
        row["name"].split(".")[0],
        row["kind"],
        _output(row),
        calculation,
        f"{row['multiply_adds']:,}",
    ]


def _saving(layers: Sequence[Row]) -> Iterator[list[str]]:
    modules = list(dict.fromkeys(row["module"] for row in layers))
    operations = {name: sum(row["multiply_adds"] for row in layers if row["module"] == name) for name in modules}
    for name in modules:
        own = [row for row in layers if row["module"] == name]
        last = {row["name"].split(".")[0]: row for row in own}  # of each branch
        height, width, _ = _places(own[0])
        output = _times((height, width, sum(row["output"][0] for row in last.values())))
        share = operations[name] / operations[modules[0]]
        saving = f"{1 - share:.1%}" if name != modules[0] else "-"
        yield [name, output, f"{operations[name]:,}", f"{share:.3f}", saving, f"{sum(map(_weights, own)):,}"]


def _stack(row: Row) -> list[str]:
    filters, side = row["filters"], row["side"]
    formula = f"{filters} * {side} - {filters} + 1 = {filters * side - filters + 1}"
    counts = (f"{row[name]:,}" for name in ("weights", "one"))
    return [str(filters), str(side), formula, str(row["field"]), *counts, f"{row['weights'] / row['one']:.2f}"]


def _activations(row: Row) -> int:
    return int(row["activations"])


def _weights(row: Row) -> int:
    return int(row["parameters"] - row["biases"])


def _window(row: Row) -> list[int]:
    """Height, width, inputs and outputs of a convolution; inputs and outputs of a fully connected layer."""
    outputs, inputs, *window = row["weight"]
    return [*window, inputs, outputs]


def _places(row: Row) -> list[int]:
    """Height, width and channels of an output, or its numbers."""
    channels, *sides = row["output"]
    return [*sides, channels]


def _output(row: Row) -> str:
    return _times(_places(row))


def _times(numbers: Sequence[int]) -> str:
    return " * ".join(map(str, numbers))
