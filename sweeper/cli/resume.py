"""`sweeper resume`: go on with a sweep."""

from __future__ import annotations

from contextlib import closing

import click

from sweeper.cli.executing import audience_of, conclude, execution_options
from sweeper.execution import Execution, nothing_left, resume_sweep
from sweeper.options import json_option, store_option
from sweeper.store import open_store


@click.command()
@click.argument("sweep")
@execution_options
@store_option
@json_option
def resume(sweep: str, execution: Execution, store_url: str, as_json: bool) -> None:
    """Run what is left of a sweep.

    That is every trial that waits, and every trial whose scheduler has died. Ended trials are not run again. To share
    a sweep, run this several times at once, also on other machines: each trial still runs once.
    """
    with closing(open_store(store_url, create=False)) as store:
        found = store.sweeps.find(sweep)
        if nothing_left(store, found):
            click.echo(f"sweep {found.id} ({found.name}): nothing is left to run; all trials have ended", err=True)
        else:
            found = resume_sweep(store, found.id, execution, audience_of(as_json))
        conclude(store, found, execution, as_json)
