"""`sweeper import`: exported sweeps, other programs' runs, and loss curves from log files."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from sweeper.answers.imports import import_answer, sweep_import_answer
from sweeper.errors import SpecError
from sweeper.interchange import FORMATS, Ignored, Keys, LoggedTrial, LogOptions, TimeOrigin, read_trials, store_trials
from sweeper.interchange.exporting import target_path
from sweeper.interchange.foreign import RUNS_READERS, ForeignOptions
from sweeper.interchange.formats import SWEEP_FORMATS
from sweeper.interchange.logs.base import SESSIONS, TIME_IS
from sweeper.interchange.logs.times import UNITS
from sweeper.interchange.sources import SweepSource, find_source, spooled, store_sweeps
from sweeper.options import json_option, print_json, store_option
from sweeper.store.store import open_store

_SHOWN_LINES = 3
_SHOWN_CHARACTERS = 80


@click.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=str))
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
    type=click.Choice(list(dict.fromkeys([*FORMATS, *SWEEP_FORMATS, *RUNS_READERS]))),
    help="Format of the files; default: from their content.",
)
@click.option(
    "--experiment",
    "experiments",
    multiple=True,
    metavar="NAME",
    help="Import only this experiment of an MLflow store, by name or id; repeatable; default: all that have runs.",
)
@click.option(
    "--loss-key",
    "--loss",
    metavar="KEY",
    help="Column, key, metric or tag of the loss; default: loss, train_loss, training_loss.",
)
@click.option("--seconds-key", metavar="KEY", help="Column or key of the seconds; default: seconds, time, timestamp, …")
@click.option("--step-key", metavar="KEY", help="Column or key of the step; default: step, iteration, … or the epoch.")
@click.option("--images-key", metavar="KEY", help="Column or key of the images seen; default: images, samples, …")
@click.option("--no-seconds", is_flag=True, help="Leave the times of logs out: rank over steps or images.")
@click.option(
    "--time-unit",
    type=click.Choice(list(UNITS)),
    help="Unit of times that are plain numbers; default: from the column's name and the numbers' size, else s.",
)
@click.option(
    "--time-is",
    type=click.Choice(TIME_IS),
    help="Whether times count from the beginning (total), are of one step each, or count from the row above; default: "
    "from the column's name and the times.",
)
@click.option(
    "--decimal",
    type=click.Choice([".", ","]),
    help="Decimal mark of the numbers; default: from the numbers.",
)
@click.option(
    "--sessions",
    type=click.Choice(SESSIONS),
    help="Whether the parts of a file that begin at an earlier step, a new header or a new clock are one run that was "
    "resumed (join) or several runs (split); default: joined where steps go on.",
)
@click.option(
    "--origin",
    type=click.Choice([origin.value for origin in TimeOrigin]),
    help="Where the seconds of all logs begin: at zero, or at each log's first point; default: guessed from the times.",
)
@store_option
@json_option
def import_logs(
    files: tuple[str, ...],
    name: str | None,
    assignments: tuple[str, ...],
    pattern: str | None,
    format_name: str | None,
    experiments: tuple[str, ...],
    loss_key: str | None,
    seconds_key: str | None,
    step_key: str | None,
    images_key: str | None,
    no_seconds: bool,
    time_unit: str | None,
    time_is: str | None,
    decimal: str | None,
    sessions: str | None,
    origin: str | None,
    store_url: str,
    as_json: bool,
) -> None:
    """Import exported sweeps, other programs' runs, or loss logs.

    Each FILE is recognised by its content; `-` is standard input. An export (CSV, Parquet, JSON, TensorBoard, Optuna)
    becomes the sweep that it was. An experiment in MLflow's SQLite store or `mlruns` folder becomes a sweep, and so
    does a folder of TensorBoard's event files, with a trial for each run. Any other file is a log, and all logs
    together are the trials of one sweep: `seconds loss` on each line, CSV with a header, JSON or Python dictionaries,
    or `key = value` pairs, plain or compressed. Sweeper says how it read units, resumed runs and lines that it could
    not use. It rejects a file that can mean two things, and names the option that decides. Nothing is stored unless
    everything can be read.
    """
    keys = Keys(loss=loss_key, seconds=seconds_key, step=step_key, images=images_key)
    log_options = LogOptions(keys, decimal, time_unit, time_is, sessions, no_seconds)
    options = ForeignOptions(keys, assignments, pattern, experiments, origin)
    # A database may be given by its URL, as it is to `sweeper export`.
    with TemporaryDirectory(prefix="sweeper-import-") as folder:
        found = {
            path: find_source(path, format_name) for path in (spooled(target_path(file), folder) for file in files)
        }
        sources = [source for source in found.values() if source is not None]
        logs = [path for path, source in found.items() if source is None]
        _check_options(sources, logs, options, name)
        if not logs and log_options != LogOptions(keys):
            of_logs = "--no-seconds, --time-unit, --time-is, --decimal and --sessions"
            raise SpecError([f"{of_logs}: they are for logs, and none of the files is one; leave them out"])
        trials, decided = read_trials(logs, assignments, pattern, _log_format(format_name), log_options, origin)
        with closing(open_store(store_url)) as store:
            answers = sweep_import_answer(store_sweeps(store, sources, options, name))
            answer = import_answer(store, store_trials(store, trials, name), trials, decided) if logs else None
    if as_json:
        print_json({"sweeps": [*answers, *([answer] if answer else [])]} if answers else answer)
        return
    for sweep in answers:
        _print_sweep(sweep)
    if answer:
        for trial, logged in zip(answer["trials"], trials, strict=True):
            _print_trial(trial, logged)
        for note in answer["notes"]:
            click.echo(note)
        _print_done(len(trials), answer)


def _check_options(sources: list[SweepSource], logs: list[Path], options: ForeignOptions, name: str | None) -> None:
    exported = [source for source in sources if source.exported]
    if exported and (options.assignments or options.pattern or options.keys.given or options.origin):
        message = "is an export, whose trials have their parameters and losses"
        raise SpecError([f"{exported[0].path}: {message}; leave out --set, --pattern, --origin and the keys"])
    if options.experiments and not any(source.format.startswith("mlflow") for source in sources):
        raise SpecError(["--experiment: there is no MLflow store among the files; leave it out"])
    if name is not None and sources and (logs or len(sources) > 1):
        raise SpecError(["--name: is for one sweep, and there are several; import one file after the other"])


def _log_format(format_name: str | None) -> str | None:
    return format_name if format_name in FORMATS else None


def _print_sweep(answer: Mapping[str, Any]) -> None:
    click.echo(f"{answer['file']}: {_count(answer['points'], 'point')} ({answer['format']})")
    if not answer["kept_ids"]:
        click.echo("  the store has a sweep of that id already: this one and its trials have new ids")
    for note in answer["notes"]:
        click.echo(f"  {note}")
    _print_done(answer["trials"], answer)


def _print_done(count: int, answer: Mapping[str, Any]) -> None:
    click.echo(f"imported {_count(count, 'trial')} as {answer['name']}, sweep {answer['sweep']}")


def _print_trial(trial: Mapping[str, Any], logged: LoggedTrial) -> None:
    log = logged.log
    click.echo(
        f"{trial['file']}: {_count(trial['points'], 'point')} ({trial['format']}), "
        f"minimum loss {_figure(trial['minimum_loss'])}, area {_figure(trial['area'])} (loss x {trial['over']})"
    )
    if not logged.summary.finite:
        click.echo("  diverged: it has losses that are not finite, and so no area")
    for note in log.notes:
        click.echo(f"  {note}")
    _print_ignored(
        log.lost, "that could not be read: the curve lacks it", "that could not be read: the curve lacks them"
    )
    others = tuple(item for item in log.ignored if not item.lost)
    _print_ignored(others, "that is not data", "that are not data")
    _print_ignored(log.left_out, "replaced by another one", "replaced by others")


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
