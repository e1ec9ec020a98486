"""`sweeper costs`: what a network costs, before anybody trains it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import click

from engine.config import MODELS, is_factory
from sweeper.answers.costs import costs_answer
from sweeper.answers.network_plan import GivenMachine, plan_answer
from sweeper.cli.network_plan import print_plan
from sweeper.cli.printing import markdown_lines, print_table
from sweeper.options import Function, json_option, print_json

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


def _number(option: str, name: str, metavar: str, what: str) -> Callable[[Function], Function]:
    """One of the machine's numbers."""
    return click.option(
        option,
        name,
        type=click.FloatRange(min=0, min_open=True),
        callback=_finite,
        metavar=metavar,
        help=f"{what} Needs --plan; measured or assumed if left out.",
    )


def _finite(_ctx: click.Context, _option: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not finite; give a number, for example 1e9")
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
    metavar="N",
    help="Batch size, for the memory; with --plan, that of all workers together. Default: 1, with --plan the number of "
    "workers.",
)
@click.option(
    "--plan",
    "is_plan",
    is_flag=True,
    help="Estimate how --workers best share each layer: by samples, or by channels and filters too.",
)
@click.option("--workers", type=click.IntRange(1, 65_536), metavar="N", help="Workers to plan for; needs --plan.")
@_number("--latency", "latency_s", "SECONDS", "Latency between workers, for example 5e-6.")
@_number("--bandwidth", "bytes_per_s", "BYTES", "Bytes that a worker sends a second, for example 10e9.")
@_number("--speed", "multiply_adds_per_s", "N", "Multiply-adds of a worker a second, for example 50e9.")
@click.option("--markdown", is_flag=True, help="Print a Markdown table, with all columns.")
@json_option
def costs(
    model: str,
    sample_shape: tuple[int, ...] | None,
    classes: int | None,
    batch: int | None,
    is_plan: bool,
    workers: int | None,
    latency_s: float | None,
    bytes_per_s: float | None,
    multiply_adds_per_s: float | None,
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

    With --plan and --workers, the command estimates a training step instead. It prints which of sample parallelism,
    stationary-x, stationary-y and stationary-w is the fastest for each layer, and a line for each grid of the workers.
    The estimate rests on the latency, bandwidth and speed that you give. The command measures the others if this
    machine has a core for each worker and an mpiexec: on cores, never on GPUs, for as long as a few dozen steps take.
    If not, it assumes them. The output says which.
    """
    if markdown and as_json:
        raise click.UsageError("--markdown and --json exclude each other")
    given = GivenMachine(latency_s, bytes_per_s, multiply_adds_per_s)
    if is_plan and workers is None:
        raise click.UsageError("--plan needs a number of workers; add it, for example --workers 8")
    if not is_plan and (workers is not None or given != GivenMachine()):
        raise click.UsageError("--workers, --latency, --bandwidth and --speed are for a plan; add --plan")
    if workers is not None:
        plan = plan_answer(model, sample_shape, classes, batch, workers, given)
        if as_json:
            print_json(plan)
        else:
            print_plan(plan, markdown)
        return
    batch = batch or 1
    answer = costs_answer(model, sample_shape, classes, batch)
    if as_json:
        print_json(answer)
        return
    rows = [*map(_row, answer["layers"]), _total(answer)]
    if markdown:
        click.echo("\n".join(markdown_lines(_HEADERS, rows, _WORDS)))
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


def _times(numbers: Sequence[int]) -> str:
    return "x".join(map(str, numbers))


def _counted(number: int) -> str:
    return f"{number:,}" if number else "-"


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.2f}" if count else "-"
