"""`sweeper costs`: what a network costs, before anybody trains it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from engine.config import MODELS, is_factory
from sweeper.answers.costs import costs_answer
from sweeper.cli.printing import print_table
from sweeper.options import json_option, print_json

_HEADERS = (
    "layer",
    "kind",
    "output",
    "activations",
    "parameters",
    "without biases",
    "multiply-adds",
    "receptive field",
    "memory, MB",
)
_WORDS = ("layer", "kind", "output", "receptive field")  # to the left
_MOST = 100_000


def _shape(_ctx: click.Context, _option: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    if value is None:
        return None
    words = value.lower().split("x")
    if not all(word.isascii() and word.isdecimal() and 0 < int(word) <= _MOST for word in words):
        raise click.BadParameter(
            f"{value!r} is not a shape; give channels, height and width, for example 3x224x224, "
            f"with each at most {_MOST:,}"
        )
    return tuple(map(int, words))


def _model(_ctx: click.Context, _argument: click.Parameter, value: str) -> str:
    if value not in MODELS and not is_factory(value):
        raise click.BadParameter(
            f"{value!r} is not known; give one of {', '.join(MODELS)}, or a model of your own as package.module:factory"
        )
    return value


@click.command()
@click.argument("model", metavar="MODEL", callback=_model)
@click.option(
    "--input",
    "sample_shape",
    callback=_shape,
    metavar="CxHxW",
    help="Channels, height and width of the samples, or the number of their features. Default: as in the model's "
    "paper, 3x32x32 for a model of your own.",
)
@click.option(
    "--classes",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="Default: 1000 for alexnet, the VGGs, resnet-50 and googlenet, 2 for neuron, 10 for others.",
)
@click.option(
    "--batch",
    type=click.IntRange(1, 1_000_000),
    default=1,
    show_default=True,
    metavar="N",
    help="Batch size, for the memory.",
)
@click.option("--markdown", is_flag=True, help="Print a Markdown table, with all columns.")
@json_option
def costs(
    model: str,
    sample_shape: tuple[int, ...] | None,
    classes: int | None,
    batch: int,
    markdown: bool,
    as_json: bool,
) -> None:
    """Count a network's operations and memory.

    MODEL is a built-in model, or your own as package.module:factory: a function of a sample's shape and the number of
    classes. The table has the activations, parameters, multiply-adds, memory and receptive field of each layer.
    Activations and multiply-adds are those of the forward pass of one sample.

    Memory is what the forward pass of a batch keeps for the backward pass in float32, each tensor in the layer that
    causes it to be kept. Masks of dropout and indices of poolings count. The total adds parameters and gradients. It
    leaves out the optimizer's state and the workspace of operations.

    A receptive field is height and width in the input. It ignores borders, so it can be larger than the input.
    """
    if markdown and as_json:
        raise click.UsageError("--markdown and --json exclude each other")
    answer = costs_answer(model, sample_shape, classes, batch)
    if as_json:
        print_json(answer)
        return
    rows = [*map(_row, answer["layers"]), _total(answer)]
    if markdown:
        click.echo("\n".join(_markdown(rows)))
        return
    click.echo(f"{model} for samples of {_times(answer['input'])}, {answer['classes']} classes, batch size {batch}")
    print_table(_HEADERS, rows, left=_WORDS, spare=("layer", "memory, MB", "output"), keep=("kind", "parameters"))


def _row(layer: dict[str, Any]) -> list[str]:
    field = layer["receptive_field"]
    return [
        layer["name"],
        layer["kind"],
        _times(layer["output"]) or "-",
        _counted(layer["activations"]),
        _counted(layer["parameters"]),
        _counted(layer["weights"]),
        _counted(layer["multiply_adds"]),
        _times(field) if field else "-",
        _megabytes(layer["memory_bytes"]),
    ]


def _total(answer: dict[str, Any]) -> list[str]:
    counts = (_counted(answer[name]) for name in ("activations", "parameters", "weights", "multiply_adds"))
    return ["total", "", "", *counts, "", _megabytes(answer["memory_bytes"])]


def _markdown(rows: Sequence[Sequence[str]]) -> list[str]:
    marks = ["---" if name in _WORDS else "---:" for name in _HEADERS]
    return ["| " + " | ".join(cells) + " |" for cells in (_HEADERS, marks, *rows)]


def _times(numbers: Sequence[int]) -> str:
    return "x".join(map(str, numbers))


def _counted(number: int) -> str:
    return f"{number:,}" if number else "-"


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.2f}" if count else "-"
