"""`sweeper check`: train some derived trials for real."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any

import click

from sweeper.answers.check import check_answer, sample_derived, spec_of_check
from sweeper.answers.numbers import measure, parameter
from sweeper.cli.executing import audience_of, execution_options
from sweeper.cli.printing import print_table
from sweeper.execution import Execution, execute, prepare
from sweeper.options import json_option, print_json, store_option
from sweeper.store import open_store


@click.command()
@click.argument("sweep")
@click.option("--sample", default=3, show_default=True, metavar="N", help="Derived trials to train.")
@click.option("--seed", default=0, show_default=True, help="Seed of the draw.")
@execution_options
@store_option
@json_option
def check(sweep: str, sample: int, seed: int, execution: Execution, store_url: str, as_json: bool) -> None:
    """Train some derived trials for real, to check them.

    They form a sweep of their own; the answer shows the differences. Derived trials come from `reuse: equivalent`.
    """
    with closing(open_store(store_url, create=False)) as store:
        found = store.sweeps.find(sweep)
        derived = sample_derived(store, found, sample, seed)
        trials, spec = [trial.planned for trial in derived], spec_of_check(found)
        prepare(trials, execution)
        checked = execute(store, trials, execution, audience_of(as_json), lambda: store.sweeps.add(spec, trials))
        answer = check_answer(store, found, derived, checked)
    if as_json:
        print_json(answer)
    else:
        _print_check(answer)


def _print_check(answer: Mapping[str, Any]) -> None:
    trials = answer["trials"]
    names = list(dict.fromkeys(name for trial in trials for name in trial["parameters"]))
    which = f"{answer['name']} ({answer['sweep']})"
    click.echo(f"\n{which}: derived trials beside the same ones trained ({answer['check']})")
    print_table(
        [*names, "derived area", "trained area", "difference", "losses differ by"],
        [
            [
                *(parameter(trial["parameters"].get(name)) for name in names),
                measure(trial["derived_area"]),
                measure(trial["trained_area"]),
                percent(trial["area_difference"]),
                percent(trial["loss_difference"]),
            ]
            for trial in trials
        ],
        words=names,
        spare=("losses differ by", "derived area", "trained area"),
        keep=("difference",),
    )
    click.echo(
        f"The largest difference of an area is {percent(answer['largest_area_difference'])}, "
        f"of a loss {percent(answer['largest_loss_difference'])}."
    )


def percent(part: float | None) -> str:
    """A part as people read it."""
    return "-" if part is None else f"{100 * part:.2g} %"
