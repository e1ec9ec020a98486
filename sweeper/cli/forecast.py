"""`sweeper forecast`: what worker counts that nobody has run would come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import click

from sweeper.answers.certainty_words import interval_words
from sweeper.answers.forecast import forecast_answer
from sweeper.answers.numbers import dollars, measure, parameter
from sweeper.cli.printing import print_table
from sweeper.options import (
    json_option,
    over_option,
    print_json,
    rate_option,
    store_option,
    threshold_option,
    worker_counts,
)
from sweeper.spec.axes import WORKERS
from sweeper.store import read_store


@click.command()
@click.argument("sweep", metavar="SWEEP")
@click.option(
    "--workers",
    multiple=True,
    required=True,
    callback=worker_counts,
    metavar="N,N",
    help="Worker counts to forecast; repeatable or separated by commas.",
)
@click.option(
    "--top", type=click.IntRange(min=1), default=10, show_default=True, help="Settings to show for each worker count."
)
@threshold_option
@over_option
@rate_option
@store_option
@json_option
def forecast(
    sweep: str,
    workers: list[int],
    top: int,
    threshold: float | None,
    over: str | None,
    dollars_per_worker_hour: float | None,
    store_url: str,
    as_json: bool,
) -> None:
    """Predict the best settings at worker counts not yet run.

    Takes the curves of equal global batch and rate from the measured worker counts, and a model of the step time that
    is fitted to them. It needs averaged gradients and two measured worker counts. It runs nothing; every figure is a
    prediction.

    The losses of some models do not follow, for example with batch normalisation or dropout. For these it predicts
    the step time, throughput, training time and cost.
    """
    with closing(read_store(store_url)) as store:
        answer = forecast_answer(store, sweep, workers, threshold, over, rate=dollars_per_worker_hour, top=top)
    if as_json:
        print_json(answer)
    else:
        print_forecast(answer)


def print_forecast(answer: Mapping[str, Any]) -> None:
    """The answer of `forecast_answer` for people."""
    counts = ", ".join(map(str, answer["measured_workers"]))
    click.echo(f"{answer['name']} ({answer['sweep']}): predicted from {counts} workers, nothing of this was run:")
    level = f"intervals at {answer['level']:.0%}"
    if answer["losses_follow"]:
        limit = "no threshold is set" if answer["threshold"] is None else f"threshold {parameter(answer['threshold'])}"
        click.echo(f"smallest area over {answer['over']} first, {limit}, {level}.")
    else:
        click.echo(f"shortest training time first, {level}.")
    if answer["note"]:
        click.echo(answer["note"])
    for reason, number in answer["left_out"].items():
        click.echo(f"{number} {'trials are' if number > 1 else 'trial is'} left out: {reason}.")
    for count in answer["workers"]:
        click.echo()
        _print_count(count, answer)
    click.echo()
    if answer["losses_follow"]:
        _print_errors(answer["errors"])
    if answer["note"]:
        _print_time_errors(answer["time_errors"])


def _print_count(count: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    workers, priced = count[WORKERS], answer["dollars_per_worker_hour"] is not None
    if count["best"]:
        _print_best(count["best"], priced=priced, over=answer["over"])
    elif answer["losses_follow"]:
        click.echo(f"workers {workers}: no setting is likely to qualify")
    if count["times"]:
        _print_times(count["times"], priced=priced)
    if count["measured"]:
        click.echo(f"workers {workers}: the sweep has run this count; `sweeper best` tells what came of it.")
    for number, reason in (
        (count["unknown"], "diverged, or too little is known of their curves or steps"),
        (count["too_large"], "cannot run: their batch is too large for the images, or less than one for each worker"),
    ):
        if number:
            click.echo(f"workers {workers}: {number} of {count['settings']} settings are left out: they {reason}.")


def _print_best(best: Sequence[Mapping[str, Any]], *, priced: bool, over: str) -> None:
    names = [name for name in best[0]["parameters"] if name != WORKERS]
    cost = ["predicted dollars", *([] if over == "dollars" else ["area over dollars"])] if priced else []
    headers = ["workers", *names, "predicted area", "interval", "minimum loss", "chance", "seconds", "seconds/step"]
    print_table(
        [*headers, *cost, "curve"],
        [_row(one, names, cost) for one in best],
        left=("curve",),
        words=names,
        spare=("curve", "seconds/step", "minimum loss", "seconds", "area over dollars", "interval"),
        keep=("workers", "predicted area", "chance"),
    )


def _print_times(times: Sequence[Mapping[str, Any]], *, priced: bool) -> None:
    names = list(dict.fromkeys(name for one in times for name in one["parameters"] if name != WORKERS))
    cost = ["predicted dollars"] if priced else []
    headers = ["workers", *names, "predicted seconds", "interval", "seconds/step", "images/s", *cost, "step"]
    rows = [
        [
            *(parameter(one["parameters"].get(name)) for name in (WORKERS, *names)),
            measure(one["seconds"]),
            interval_words(one["seconds_interval"]),
            measure(one["seconds_per_step"]),
            measure(one["images_per_second"]),
            *([dollars(one["dollars"])] if priced else []),
            one["step"],
        ]
        for one in times
    ]
    spare = ("step", "images/s", "interval")
    print_table(headers, rows, left=("step",), words=names, spare=spare, keep=("workers", "predicted seconds"))


def _row(one: Mapping[str, Any], names: Sequence[str], cost: Sequence[str]) -> list[str]:
    sums = [dollars(one["dollars"]), measure(one["area_dollars"])]
    return [
        *(parameter(one["parameters"].get(name)) for name in (WORKERS, *names)),
        measure(one["area"]),
        interval_words(one["area_interval"]),
        measure(one["minimum_loss"]),
        f"{one['chance']:.0%}",
        measure(one["seconds"]),
        measure(one["seconds_per_step"]),
        *sums[: len(cost)],
        f"{one['curve']}",
    ]


def _print_errors(errors: Sequence[Mapping[str, Any]]) -> None:
    if not errors:
        click.echo("How far forecasts are off is not known: that takes three worker counts with settings that qualify.")
        return
    click.echo(
        "How far the same forecast is off for measured worker counts, each from the others (their best settings):"
    )
    rows = [
        [
            str(one[WORKERS]),
            ", ".join(map(str, one["from"])),
            str(one["settings"]),
            _percent(one["median_error"]),
            _percent(one["worst_error"]),
            f"{one['within_interval']}/{one['settings']}",
            _percent(one["winner_excess"]),
        ]
        for one in errors
    ]
    headers = ["workers", "from", "settings", "median error", "worst error", "within interval"]
    spare = ("within interval", "settings", "from", "median error")
    print_table([*headers, "predicted winner behind the true one by"], rows, spare=spare, keep=("workers",))


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{part:.1%}"


def _print_time_errors(errors: Sequence[Mapping[str, Any]]) -> None:
    if not errors:
        click.echo("How far forecasts of steps are off is not known: that takes three worker counts.")
        return
    click.echo("How far the same forecast of a step is off for measured worker counts, each from the others:")
    rows = [
        [
            str(one[WORKERS]),
            ", ".join(map(str, one["from"])),
            str(one["steps"]),
            _percent(one["median_error"]),
            _percent(one["worst_error"]),
        ]
        for one in errors
    ]
    print_table(["workers", "from", "kinds of steps", "median error", "worst error"], rows, keep=("workers",))
