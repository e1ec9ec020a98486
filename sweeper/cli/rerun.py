"""`sweeper rerun`: another attempt at what failed."""

from __future__ import annotations

from contextlib import closing

import click

from sweeper.cli.executing import audience_of, conclude, execution_options
from sweeper.errors import NotFoundError
from sweeper.execution import Execution, resume_sweep
from sweeper.options import json_option, store_option
from sweeper.plan.trial import TrialState
from sweeper.store import open_store


@click.command()
@click.argument("sweep")
@click.option("--failed", is_flag=True, help="Rerun the trials that failed; no others can be rerun.")
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
    """Run the failed trials of a sweep again, as new attempts.

    The old attempts stay. Trials that still wait are run as well.
    """
    if not failed:
        raise click.UsageError("say which trials: --failed")
    with closing(open_store(store_url, create=False)) as store:
        found = store.sweeps.find(sweep)
        if not found.states.get(TrialState.FAILED):
            raise NotFoundError(f"sweep {found.id}: no trial of it has failed", "nothing is to be run again")
        found = resume_sweep(
            store,
            found.id,
            execution,
            audience_of(as_json),
            states=[TrialState.PENDING, TrialState.RUNNING, TrialState.FAILED],
            change=lambda: store.sweeps.try_failed_again(found.id),
        )
        conclude(store, found, as_json)
