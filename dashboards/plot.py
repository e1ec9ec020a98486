"""`sweeper plot`: a sweep as a picture."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dashboards.figures import FIGURES, Figure, Source
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
    from dashboards.figures.tables import TrialTable
    from sweeper.store import SweepRecord


def plot_command(figures: Iterable[Figure[Any]]) -> click.Group:
    """`plot` with a subcommand for each of the figures."""
    group = click.Group("plot", help="Draw a sweep as PNG, SVG or PDF.")
    for figure in figures:
        group.add_command(_subcommand(figure))
    return group


def _subcommand(figure: Figure[Any]) -> click.Command:
    def draw(**options: Any) -> None:
        _plot(figure, **options)

    sweeps = [click.Argument(["first"])] if figure.compares else []
    command = click.Command(
        figure.command or figure.name, callback=draw, help=figure.help, params=[*sweeps, click.Argument(["sweep"])]
    )
    output = click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A .png, .svg or .pdf file; default: the sweep's name and the figure's, as PNG.",
    )
    ranking = [threshold_option, over_option, oversubscribed_option, rate_option]
    for option in [output, *ranking, store_option, json_option]:
        option(command)
    return command


def _plot(
    figure: Figure[Any],
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
    from dashboards.figures.drawing.figure_file import default_path, format_of, write_figure
    from dashboards.figures.tables import trial_table

    if output is not None:
        format_of(output)
    with closing(open_store(store_url, create=False)) as store:

        def table_of(one: SweepRecord, axis: str | None) -> TrialTable:
            rate = dollars_per_worker_hour
            return trial_table(store, one, axis, threshold, oversubscribed=oversubscribed, rate=rate)

        record = store.find_sweep(sweep)
        before = None if first is None else table_of(store.find_sweep(first), over)
        trials = table_of(record, over if before is None else before.over)
        drawn = figure.draw(figure.table(Source(store, trials, before)))
    path = output or default_path(record.name, record.id, figure.name)
    write_figure(drawn, path)
    if as_json:
        print_json({"figure": str(path), "sweep": record.id, "kind": figure.name})
    else:
        click.echo(str(path))


plot = plot_command(FIGURES.values())
