"""`sweeper show`: the trials of a sweep, or one of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import click

from sweeper.answers.numbers import dollars, measure, parameter
from sweeper.answers.one_trial import one_trial_answer
from sweeper.answers.sweeps import ORDERS, show_answer
from sweeper.answers.trial_words import area_words, footnotes, state_words
from sweeper.cli.printing import measures_of, print_table
from sweeper.cli.show_trial import print_trial
from sweeper.errors import NotFoundError
from sweeper.options import json_option, print_json, rate_option, store_option
from sweeper.store import Store, read_store

# A sweep's id, and at least the beginning of what tells its trials apart. A sweep may have such a name, and goes first.
_TRIAL = re.compile(r"[0-9a-f]{8}-[0-9a-f]+")
_SHOWN_TRIALS = 3
_ALWAYS_EXPLAINED = ("failed", "diverged")
_EXPLAINED_IF_KNOWN = ("pending", "cancelled")


@click.command()
@click.argument("reference", metavar="SWEEP|TRIAL")
@click.option(
    "--sort",
    "order",
    type=click.Choice(ORDERS),
    default="area",
    show_default=True,
    help="Smallest area or smallest minimum loss first, or the order of the plan. Areas of trials that ended early are "
    "lower bounds, and come last.",
)
@click.option("--ids", is_flag=True, help="Also show the ids of the trials.")
@rate_option
@store_option
@json_option
def show(
    reference: str, order: str, ids: bool, dollars_per_worker_hour: float | None, store_url: str, as_json: bool
) -> None:
    """Show the trials of a sweep, or one trial.

    SWEEP is an id, the beginning of one, a name, or `latest`. Its trials come with the smallest area first, over the
    sweep's own axis. At a price per worker and hour, it also shows the cost. TRIAL is a trial's id, as `--ids` shows
    them, or the beginning of one: then its attempts, phases, settings and the end of its curve are shown.
    """
    with closing(read_store(store_url)) as store:
        if _TRIAL.fullmatch(reference) and not _is_sweep(store, reference):
            found, say = one_trial_answer(store, reference), print_trial
        else:
            found, say = show_answer(store, reference, order, dollars_per_worker_hour), partial(_print_trials, ids=ids)
    if as_json:
        print_json(found)
    else:
        say(found)


def _is_sweep(store: Store, reference: str) -> bool:
    try:
        store.sweeps.find(reference)
    except NotFoundError:
        return False
    return True


def _print_trials(answer: Mapping[str, Any], *, ids: bool) -> None:
    trials = answer["trials"]
    click.echo(f"{answer['name']} ({answer['sweep']}): {answer['state']}")
    counts = ", ".join(f"{count} {state}" for state, count in answer["states"].items())
    click.echo(f"{len(trials)} trial{'' if len(trials) == 1 else 's'}: {counts}")
    names = list(dict.fromkeys(name for trial in trials for name in trial["parameters"]))
    if answer["dollars"] is not None:
        click.echo(f"cost: {dollars(answer['dollars'])}, of all attempts with their start-up and evaluations")
    measures = [*measures_of(trials), *(["dollars"] if answer["dollars"] is not None else [])]
    rows = [
        [
            *(parameter(trial["parameters"].get(name)) for name in names),
            state_words(trial),
            *(_measured(trial, name) for name in measures),
        ]
        for trial in trials
    ]
    area = "area" if answer["over"] == "seconds" else f"area over {answer['over']}"
    headers = [*names, "state", *(area if name == "area" else name for name in measures)]
    alike = _alike(trials)
    if alike or ids:
        headers = ["trial", *headers]
        rows = [[trial["trial"], *row] for trial, row in zip(trials, rows, strict=True)]
    spare = ("images", "seconds", "accuracy", "dollars", "minimum_loss")
    print_table(headers, rows, left=("trial", "state"), words=names, spare=spare, keep=("trial", "state", area))
    for line in footnotes(trials):
        click.echo(line)
    explained = [trial for trial in trials if trial["state"] in _ALWAYS_EXPLAINED]
    explained += [
        t
        for t in trials
        if t["reason"] and t not in explained and (alike or t["state"] in _EXPLAINED_IF_KNOWN or _is_incomplete(t))
    ]
    for line in _reasons(explained):
        click.echo(line)


def _is_incomplete(trial: Mapping[str, Any]) -> bool:
    """Whether the trial has a result in spite of what its reason says, and not only from elsewhere."""
    return trial["state"] == "completed" and ("imported from" not in trial["reason"] or ";" in trial["reason"])


def _measured(trial: Mapping[str, Any], name: str) -> str:
    if name == "area":
        return area_words(trial["ranked_area"], is_bound=trial["area_is_bound"])
    return measure(trial[name])


def _alike(trials: Sequence[Mapping[str, Any]]) -> bool:
    """Whether parameters alone do not tell the trials apart, as in an import of files that say nothing of them."""
    return len({tuple(sorted(map(str, trial["parameters"].items()))) for trial in trials}) < len(trials)


def _reasons(trials: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each state and reason, and below it the trials that it happened to."""
    happened: dict[str, list[str]] = {}
    for trial in trials:
        reason = " ".join(trial["reason"].split()) or "no reason is known"
        values = " ".join(f"{name}={parameter(value)}" for name, value in trial["parameters"].items())
        happened.setdefault(f"{trial['state']}: {reason}", []).append(f"  {trial['trial']} {values}")
    lines: list[str] = []
    for reason, those in happened.items():
        lines += [reason, *those[:_SHOWN_TRIALS]]
        if len(those) > _SHOWN_TRIALS:
            lines.append(f"  and {len(those) - _SHOWN_TRIALS} more; --json has them all")
    return lines
