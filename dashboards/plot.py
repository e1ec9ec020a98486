"""`sweeper plot`: a sweep as a picture."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from dashboards.figures import FIGURES, Answers, Choices, Figure, Source
from dashboards.figures.drawing.figure_file import FORMATS, default_path, figure_format, figure_place, write_figure
from sweeper.answers.best import best_of
from sweeper.answers.differences import spec_differences
from sweeper.errors import FigureError
from sweeper.options import (
    axis_option,
    json_option,
    oversubscribed_option,
    print_json,
    rate_option,
    store_option,
    threshold_option,
    worker_counts,
)
from sweeper.store import Store, read_store

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from dashboards.figures.tables import TrialTable


def _share(_ctx: click.Context, _option: click.Parameter, value: float | None) -> float | None:
    if value is not None and math.isnan(value):
        raise click.BadParameter("nan is not a share of the test set; give one above 0, up to 1")
    return value


_Option: TypeAlias = Callable[[click.Command], click.Command]
_CHOICES: dict[str, _Option] = {
    "error": click.option("--error", is_flag=True, help="Draw 1 - accuracy, the share of the test set that is wrong."),
    "accuracy": click.option(
        "--accuracy",
        type=click.FloatRange(0, 1, min_open=True),
        callback=_share,
        metavar="SHARE",
        help="Also draw the seconds to the first evaluation with at least this accuracy, for example 0.9.",
    ),
    "images": click.option(
        "--images",
        type=click.IntRange(min=1),
        metavar="N",
        help="Draw time and cost of N images, for example of an epoch, instead of a whole trial's.",
    ),
    "forecast": click.option(
        "--forecast",
        multiple=True,
        callback=worker_counts,
        metavar="N,N",
        help="Also draw what these worker counts, not run, would come to; repeatable or separated by commas.",
    ),
    "with_sweeps": click.option(
        "--with",
        "with_sweeps",
        multiple=True,
        metavar="SWEEP",
        help="Also draw another sweep, for example an import or the other kind of scaling; repeatable.",
    ),
}


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
        metavar="FILE",
        help="A .png, .svg or .pdf file, or `-` for standard output; default: the sweep's name and the figure's, as "
        "PNG.",
    )
    file_format = click.option(
        "--format", "format_name", type=click.Choice(list(FORMATS)), help="Format; default: from the file's ending."
    )
    ranking: list[_Option] = [threshold_option, axis_option(figure.axes), oversubscribed_option, rate_option]
    unlike = click.option(
        "--allow-unlike", "unlike", is_flag=True, help="Compare areas even if budgets or thresholds differ."
    )
    own: list[_Option] = [*([unlike] if figure.compares else []), *(_CHOICES[name] for name in figure.choices)]
    options: list[_Option] = [output, file_format, *ranking, *own, store_option, json_option]
    for option in options:
        option(command)
    return command


def _plot(
    figure: Figure[Any],
    *,
    sweep: str,
    output: str | None,
    format_name: str | None,
    threshold: float | None,
    over: str | None,
    oversubscribed: bool,
    dollars_per_worker_hour: float | None,
    store_url: str,
    as_json: bool,
    first: str | None = None,
    unlike: bool = False,
    **choices: Any,
) -> None:
    """Draw, write, and say where; raises FigureError, NotFoundError and StoreError."""
    file_format = figure_format(output, format_name)
    to_stdout = output is not None and figure_place(output).is_standard_output
    with closing(read_store(store_url)) as store:
        record = store.sweeps.find(sweep)
        differences = [] if first is None else spec_differences(store.sweeps.find(first), record)
        if not as_json:
            for one in differences:
                line = f"{one.field}: {json.dumps(one.first)} before, {json.dumps(one.second)} after"
                click.echo(line, err=to_stdout)
        drawn = draw_figure(
            store,
            record.id,
            figure.name,
            threshold=threshold,
            over=over,
            oversubscribed=oversubscribed,
            dollars_per_worker_hour=dollars_per_worker_hour,
            first=first,
            unlike=unlike,
            **choices,
        )
    path = output or str(default_path(record.name, record.id, figure.name, file_format))
    write_figure(drawn, path, file_format)
    if as_json:
        told = {"differences": [vars(one) for one in differences]} if first is not None else {}
        print_json({"figure": path, "sweep": record.id, "kind": figure.name, **told}, err=to_stdout)
    elif not to_stdout:
        click.echo(path)


def draw_figure(
    store: Store,
    sweep: str,
    name: str,
    *,
    threshold: float | None = None,
    over: str | None = None,
    oversubscribed: bool = False,
    dollars_per_worker_hour: float | None = None,
    first: str | None = None,
    unlike: bool = False,
    **choices: Any,
) -> Drawing:
    """A figure of a sweep by its name; `first` is the sweep that a comparison starts from, `unlike` as in `Source`.

    `choices` are fields of `Choices` that the figure reads.

    Raises:
        FigureError: there is no such figure, axis or choice, or the sweep has nothing for it to show.
        NotFoundError, SpecError, StoreError: as `sweeper best` does.
    """
    from dashboards.figures.drawing.fonts import fit_fonts
    from dashboards.figures.tables import trial_table

    figure = FIGURES.get(name)
    if figure is None or (figure.compares and first is None):
        known = ", ".join(one.name for one in FIGURES.values() if not one.compares)
        raise FigureError(f"{name}: is not a figure of a sweep", f"use one of {known}")
    asked = _asked(figure, over, choices)

    def table_of(reference: str, axis: str | None, limit: float | None) -> TrialTable:
        record, rate = store.sweeps.find(reference), dollars_per_worker_hour
        return trial_table(store, record, axis, limit, oversubscribed=oversubscribed, rate=rate)

    before = None if first is None else table_of(first, over, threshold)
    trials = table_of(sweep, over if before is None else before.over, threshold)
    others = tuple(table_of(reference, trials.over, trials.threshold) for reference in asked.with_sweeps)

    def answers(_: bool) -> Answers:
        record, rate = store.sweeps.find(sweep), dollars_per_worker_hour
        asked = best_of(
            store, record, (), threshold, trials.over, oversubscribed=oversubscribed, rate=rate, recommend=True
        )
        found: Answers = asked["groups"]
        return found

    source = Source(store, trials, before, unlike=unlike, answers=answers, choices=asked, others=others)
    drawn = figure.draw(figure.table(source))
    fit_fonts(drawn)
    return drawn


def _asked(figure: Figure[Any], over: str | None, choices: Mapping[str, Any]) -> Choices:
    """The figure's choices, those of Python included; raises FigureError for an axis or a choice that it has not."""
    if over is not None and over not in figure.axes:
        raise FigureError(
            f"{figure.name}: over {over!r} is not one of its axes", f"use one of {', '.join(figure.axes)}"
        )
    if unknown := choices.keys() - set(figure.choices):
        own = ["threshold", "over", "oversubscribed", "dollars_per_worker_hour", *figure.choices]
        raise FigureError(f"{figure.name}: unknown option {min(unknown)!r}", f"use some of {', '.join(own)}")
    several = {name: _several(choices[name]) for name in choices.keys() & {"forecast", "with_sweeps"}}
    return Choices(**{**choices, **several})


def _several(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, str | int) else tuple(value or ())


plot = plot_command(FIGURES.values())
