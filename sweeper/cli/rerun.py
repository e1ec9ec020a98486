"""`sweeper rerun`: another attempt at what failed, or at what shared cores or GPUs."""

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
@execution_options
@store_option
@json_option
def rerun(
    sweep: str,
    failed: bool,
    oversubscribed: bool,
    execution: Execution,
    store_url: str,
    as_json: bool,
) -> None:
    """Run failed or oversubscribed trials again.

    Each gets a new attempt; the old ones stay. Trials that still wait are run as well. If the new attempt at an
    oversubscribed trial fails, is stopped or is interrupted, the trial returns to its old result. So does a complete
    trial if its new attempt is pruned.
    """
    if not (failed or oversubscribed):
        raise click.UsageError("say which trials: --failed, --oversubscribed or both")
    with closing(open_store(store_url, create=False)) as store:
        audience = audience_of(as_json)
        done = rerun_sweep(store, sweep, execution, audience, failed=failed, oversubscribed=oversubscribed)
        conclude(store, done.sweep, execution, as_json)
    _say_what_is_kept(done)


def _say_what_is_kept(done: Rerun) -> None:
    """Tell how many trials keep their old results; raises ClickException where new attempts failed or were stopped."""
    if done.beaten:
        beaten = f"{done.beaten} of {done.to_repeat} oversubscribed trials keep their old result"
        click.echo(f"{beaten}: they were pruned, for they can no longer win", err=True)
    if done.unfinished:
        raise click.ClickException(
            f"{done.unfinished} of {done.to_repeat} oversubscribed trials keep their old result: their new attempts "
            f"failed or were stopped; `sweeper rerun --oversubscribed {done.sweep.id}` tries them again"
        )
