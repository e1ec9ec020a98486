"""`sweeper import`: loss curves from other programs' log files."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from sweeper.cli.answers import import_answer
from sweeper.cli.options import json_option, print_json, store_option
from sweeper.interchange import FORMATS, Ignored, Keys, LoggedTrial, read_trials, store_trials
from sweeper.store.store import open_store

_SHOWN_LINES = 3
_SHOWN_CHARACTERS = 80


@click.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="Name of the sweep; default: the first file's, without its suffix.")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of all trials, such as batch_size=128; repeatable; goes before --pattern.",
)
@click.option(
    "--pattern",
    metavar="REGEX",
    help=r"Parameters from the files' names, by named groups such as (?P<learning_rate>\d+\.?\d*)_lr.",
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(list(FORMATS)),
    help="Format of the files; default: from their content.",
)
@click.option("--loss-key", metavar="KEY", help="Column or key of the loss; default: loss, train_loss, training_loss.")
@click.option("--seconds-key", metavar="KEY", help="Column or key of the seconds; default: seconds, time, timestamp, …")
@store_option
@json_option
def import_logs(
    files: tuple[Path, ...],
    name: str | None,
    assignments: tuple[str, ...],
    pattern: str | None,
    format_name: str | None,
    loss_key: str | None,
    seconds_key: str | None,
    store_url: str,
    as_json: bool,
) -> None:
    """Import loss logs, one trial a FILE, as a sweep that is ranked and drawn like any other.

    A log is text: `seconds loss` a line; CSV with a header; JSON lines; or `key = value` pairs a line. Lines that are
    no data are counted and shown. Nothing is stored unless all files can be read.
    """
    trials = read_trials(files, assignments, pattern, format_name, Keys(loss=loss_key, seconds=seconds_key))
    with closing(open_store(store_url)) as store:
        answer = import_answer(store, store_trials(store, trials, name), trials)
    if as_json:
        print_json(answer)
        return
    for trial, logged in zip(answer["trials"], trials, strict=True):
        _print_trial(trial, logged)
    count = len(trials)
    click.echo(f"imported {count} trial{'s' * (count > 1)} as {answer['name']}, sweep {answer['sweep']}")


def _print_trial(trial: Mapping[str, Any], logged: LoggedTrial) -> None:
    log = logged.log
    click.echo(
        f"{trial['file']}: {_count(trial['points'], 'point')} ({trial['format']}), "
        f"minimum loss {_figure(trial['minimum_loss'])}, area {_figure(trial['area'])} (loss x seconds)"
    )
    if not logged.summary.finite:
        click.echo("  diverged: it has losses that are not finite, and so no area")
    for note in log.notes:
        click.echo(f"  {note}")
    _print_ignored(log.ignored, "that is no data", "that are no data")
    _print_ignored(log.out_of_order, "out of order in time, not used", "out of order in time, not used")


def _print_ignored(ignored: tuple[Ignored, ...], one: str, many: str) -> None:
    if not ignored:
        return
    click.echo(f"  {_count(len(ignored), 'line')} {one if len(ignored) == 1 else many}:")
    for item in ignored[:_SHOWN_LINES]:
        text = item.line.text.strip()
        shown = text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
        click.echo(f"    line {item.line.number}: {item.reason}: {shown}")
    if len(ignored) > _SHOWN_LINES:
        click.echo(f"    and {len(ignored) - _SHOWN_LINES} more")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _figure(value: float | None) -> str:
    """Six decimals, as logs are compared by; six digits where the number is very small or large."""
    if value is None:
        return "none"
    return f"{value:.6f}" if value == 0 or 0.001 <= abs(value) < 1e9 else f"{value:.6g}"
