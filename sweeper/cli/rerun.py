"""`sweeper rerun`: another attempt at what failed."""

from __future__ import annotations

from contextlib import closing

import click

from sweeper.cli.executing import Execution, execution_options, resume_sweep
from sweeper.cli.options import json_option, store_option
from sweeper.errors import NotFoundError
from sweeper.store import open_store
from sweeper.trial import TrialState


@click.command()
@click.argument("sweep")
@click.option("--failed", is_flag=True, help="The trials that failed; the only kind that can be rerun.")
@execution_options
@store_option
@json_option
def rerun(
    sweep: str,
    failed: bool,
    execution: Execution,
    store_url: str,
    as_json: bool,
) -> None:
    """Run the failed trials of SWEEP again, as new attempts, and what else is left of it; the old attempts stay."""
    if not failed:
        raise click.UsageError("say which trials: --failed")
    with closing(open_store(store_url, create=False)) as store:
        found = store.find_sweep(sweep)
        if not found.states.get(TrialState.FAILED):
            raise NotFoundError(f"sweep {found.id}: no trial of it has failed", "nothing is to be run again")
        resume_sweep(
            store,
            found.id,
            execution,
            as_json,
            states=[TrialState.PENDING, TrialState.RUNNING, TrialState.FAILED],
            change=lambda: store.try_failed_again(found.id),
        )
