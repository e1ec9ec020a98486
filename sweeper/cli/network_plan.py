"""How `sweeper costs --plan` prints a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from engine.channel_parallel.choice import WAYS
from sweeper.cli.printing import markdown_lines, print_table

_SOURCES = {"given": "given", "measured": "measured on cores", "assumed": "assumed"}
_GRIDS = ("samples x channels", "step, ms", "computing, ms", "moving, ms", "MB moved", "layers")
_LAYERS = ("layer", "channels", "window", "output", *(f"{way}, ms" for way in WAYS), "fastest", "planned", "MB moved")
_WORDS = ("samples x channels", "layers", "layer", "channels", "window", "output", "fastest", "planned")
_NOTE = """Estimates of convolutions and hidden fully connected layers, forward and backward; other layers are left out.
fastest: a layer's best way by itself. The stationary algorithms are those of the fastest grid with several channels{}.
planned: the layer's way on the fastest grid, since one grid holds for the whole network. MB moved: in that way.\
"""


def print_plan(answer: dict[str, Any], markdown: bool) -> None:
    """The machine, a table of grids and one of layers."""
    grids, layers = [_grid(one) for one in answer["grids"]], [_layer(one) for one in answer["layers"]]
    heading = f"{_subject(answer)}\n{_machine(answer['machine'])}"
    if not answer["can_be_swept"]:
        heading += f"\ntrial.parallel does not take {answer['model']}: the plan is of its layers alone."
    note = _NOTE.format(_split(answer["grids"]))
    if markdown:
        tables = ["\n".join(markdown_lines(*table, _WORDS)) for table in ((_GRIDS, grids), (_LAYERS, layers))]
        click.echo("\n\n".join([heading, *tables, note]))
        return
    click.echo(f"{heading}\n")
    print_table(_GRIDS, grids, left=_WORDS, keep=("samples x channels", "step, ms"))
    click.echo()
    print_table(_LAYERS, layers, left=_WORDS, spare=("output", "window", "channels"), keep=("layer", "planned"))
    click.echo(f"\n{note}")


def _subject(answer: dict[str, Any]) -> str:
    return (
        f"{answer['model']} for samples of {_times(answer['input'])}, {answer['classes']} classes, "
        f"batch size {answer['batch_size']} over {answer['workers']} worker{'s' * (answer['workers'] > 1)}"
    )


def _machine(machine: dict[str, Any]) -> str:
    told = {
        "latency_s": f"latency {1e6 * machine['latency_s']:.3g} us",
        "bytes_per_s": f"bandwidth {machine['bytes_per_s'] / 1e9:.3g} GB/s",
        "multiply_adds_per_s": f"{machine['multiply_adds_per_s'] / 1e9:.3g} billion multiply-adds/s",
    }
    numbers = ", ".join(f"{words} ({_SOURCES[machine['sources'][name]]})" for name, words in told.items())
    why = f"\nAssumed, since {machine['why_assumed']}." if machine["why_assumed"] else ""
    return f"Each worker: {numbers}.{why}"


def _split(grids: Sequence[dict[str, Any]]) -> str:
    names = [_name(grid) for grid in grids if grid["channels"] > 1]
    return f", {names[0]}" if names else ""


def _name(grid: dict[str, Any]) -> str:
    return f"{grid['samples']}x{grid['channels']}"


def _grid(grid: dict[str, Any]) -> list[str]:
    times = (grid[name] for name in ("seconds", "computing_seconds", "moving_seconds"))
    ways = ", ".join(f"{count} {way}" for way, count in grid["layers"].items())
    return [_name(grid), *map(_milliseconds, times), _megabytes(grid["bytes_moved"]), ways]


def _layer(layer: dict[str, Any]) -> list[str]:
    return [
        layer["name"],
        f"{layer['channels']} to {layer['filters']}",
        _times(layer["window"]),
        _times(layer["output"]),
        *(_milliseconds(layer["seconds"][way]) for way in WAYS),
        layer["fastest"],
        layer["planned"],
        _megabytes(layer["bytes_moved"]),
    ]


def _times(numbers: Sequence[int]) -> str:
    return "x".join(map(str, numbers))


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1e3 * seconds:,.3f}"


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.2f}" if count else "-"
