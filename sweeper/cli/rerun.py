"""`sweeper rerun`: another attempt at what failed, shared cores or GPUs, or was derived."""

from __future__ import annotations

from contextlib import closing

import click

from sweeper.cli.executing import audience_of, conclude, execution_options
from sweeper.execution import Execution, Rerun, rerun_sweep
from sweeper.options import json_option, store_option
from sweeper.store import open_store


@click.command()
@click.argument("sweep")
@click.option("--failed", is_flag=True, help="Rerun the trials that failed.")
@click.option(
    "--oversubscribed",
    is_flag=True,
    help="Rerun the trials whose ranks shared cores or GPUs. Each keeps its result until its new attempt has one.",
)
@click.option(
    "--derived",
    is_flag=True,
    help="Train the derived trials of the settings that may be the best: the winners, and what `best` cannot rule out. "
    "Each keeps its result until its new attempt has one.",
)
@execution_options
@store_option
@json_option
def rerun(
    sweep: str,
    failed: bool,
    oversubscribed: bool,
    derived: bool,
    execution: Execution,
    store_url: str,
    as_json: bool,
) -> None:
    """Run failed, oversubscribed or derived trials again.

    Each gets a new attempt; the old ones stay. Trials that still wait are run as well. If the new attempt at an
    oversubscribed or derived trial fails, is stopped or is interrupted, the trial returns to its old result. So does a
    complete trial if its new attempt is pruned. Derived trials come from `reuse: equivalent`.
    """
    kinds = {"--failed": failed, "--oversubscribed": oversubscribed, "--derived": derived}
    if not any(kinds.values()):
        raise click.UsageError(f"say which trials: one or more of {', '.join(kinds)}")
    with closing(open_store(store_url, create=False)) as store:
        audience = audience_of(as_json)
        done = rerun_sweep(
            store, sweep, execution, audience, failed=failed, oversubscribed=oversubscribed, derived=derived
        )
        conclude(store, done.sweep, execution, as_json)
    _say_what_is_kept(done, " ".join(kind for kind, wanted in kinds.items() if wanted and kind != "--failed"))


def _say_what_is_kept(done: Rerun, options: str) -> None:
    """Tell how many trials keep their old results; raises ClickException where new attempts failed or were stopped."""
    if done.beaten:
        beaten = f"{done.beaten} of {done.to_repeat} trials keep their old results"
        click.echo(f"{beaten}: they were pruned, for they can no longer win", err=True)
    if done.unfinished:
        raise click.ClickException(
            f"{done.unfinished} of {done.to_repeat} trials keep their old results: their new attempts failed or were "
            f"stopped; `sweeper rerun {options} {done.sweep.id}` tries them again"
        )
