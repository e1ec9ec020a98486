"""`sweeper plot`: a sweep as a picture."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sweeper.options import (
    json_option,
    over_option,
    oversubscribed_option,
    print_json,
    rate_option,
    store_option,
    threshold_option,
)
from sweeper.store import open_store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dashboards.frames import TrialTable
    from sweeper.store import Store, SweepRecord

Function = TypeVar("Function", bound=Callable[..., Any])


@click.group()
def plot() -> None:
    """Draw a sweep as PNG, SVG or PDF."""


def _figure_options(function: Function) -> Function:
    """What all figures take: the sweep, the file, the threshold, the axis, the store."""
    output = click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A .png, .svg or .pdf file; default: the sweep's name and the figure's, as PNG.",
    )
    ranking = [threshold_option, over_option, oversubscribed_option, rate_option]
    for option in reversed([click.argument("sweep"), output, *ranking, store_option, json_option]):
        function = option(function)
    return function


@plot.command()
@_figure_options
def heatmap(**options: Any) -> None:
    """Areas by batch size and learning rate, the winners marked."""
    _plot("heatmap", **options)


@plot.command()
@_figure_options
def histogram(**options: Any) -> None:
    """Areas of the qualified trials, sorted by minimum loss."""
    _plot("histogram", **options)


@plot.command()
@_figure_options
def curves(**options: Any) -> None:
    """Loss curves of the best trial of each worker count."""
    _plot("curves", **options)


@plot.command()
@_figure_options
def accuracy(**options: Any) -> None:
    """Accuracy on the test set of the best trial of each worker count."""
    _plot("accuracy", **options)


@plot.command()
@_figure_options
def coordinates(**options: Any) -> None:
    """All parameters that vary as parallel axes, a line for each trial."""
    _plot("coordinates", **options)


@plot.command()
@_figure_options
def phases(**options: Any) -> None:
    """What the time of training went into, per worker count."""
    _plot("phases", **options)


@plot.command()
@_figure_options
def scaling(**options: Any) -> None:
    """Throughput, parallel efficiency and time to threshold by worker count."""
    _plot("scaling", **options)


@plot.command()
@click.argument("first")
@_figure_options
def compare(first: str, **options: Any) -> None:
    """Areas of SWEEP against those of FIRST: the difference in each cell, for before and after."""
    _plot("comparison", first=first, **options)


def _plot(
    kind: str,
    *,
    sweep: str,
    output: Path | None,
    threshold: float | None,
    over: str | None,
    oversubscribed: bool,
    dollars_per_worker_hour: float | None,
    store_url: str,
    as_json: bool,
    first: str | None = None,
) -> None:
    """Draw, write, and say where; raises FigureError, NotFoundError and StoreError."""
    # Only now: matplotlib takes longer to import than all the rest, and `--help` does not need it.
    from dashboards.figure_file import default_path, format_of, write_figure
    from dashboards.frames import trial_table

    if output is not None:
        format_of(output)
    with closing(open_store(store_url, create=False)) as store:

        def table_of(one: SweepRecord, axis: str | None) -> TrialTable:
            rate = dollars_per_worker_hour
            return trial_table(store, one, axis, threshold, oversubscribed=oversubscribed, rate=rate)

        record = store.sweeps.find(sweep)
        before = None if first is None else table_of(store.sweeps.find(first), over)
        table = table_of(record, over if before is None else before.over)
        figure = _draw(kind, store, table) if before is None else _compare(before, table)
    path = output or default_path(record.name, record.id, kind)
    write_figure(figure, path)
    if as_json:
        print_json({"figure": str(path), "sweep": record.id, "kind": kind})
    else:
        click.echo(str(path))


def _draw(kind: str, store: Store, table: TrialTable) -> Figure:
    from dashboards.kinds import KINDS

    return KINDS[kind].draw(KINDS[kind].table(store, table))


def _compare(before: TrialTable, after: TrialTable) -> Figure:
    from dashboards.figures import draw_comparison
    from dashboards.frames import comparison

    return draw_comparison(comparison(before, after))
