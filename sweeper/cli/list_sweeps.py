"""`sweeper list`: the sweeps in the store."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime

import click

from sweeper.answers.sweeps import list_answer
from sweeper.cli.printing import print_table
from sweeper.options import json_option, print_json, store_option
from sweeper.store import read_store


@click.command("list")
@store_option
@json_option
def list_sweeps(store_url: str, as_json: bool) -> None:
    """List the sweeps in the store, newest first."""
    with closing(read_store(store_url)) as store:
        answer = list_answer(store)
    if as_json:
        print_json(answer)
    elif not answer["sweeps"]:
        click.echo(f"No sweeps yet in {store.name}: `sweeper run SPEC` makes one, `sweeper import FILE` another.")
    else:
        headers = ["sweep", "name", "state", "trials", "states", "created"]
        print_table(
            headers,
            [
                [
                    sweep["sweep"],
                    sweep["name"],
                    sweep["state"],
                    f"{sweep['ended']}/{sweep['trials']}",
                    "\n".join(f"{count} {state}" for state, count in sweep["states"].items()),
                    f"{datetime.fromisoformat(sweep['created_at']).astimezone():%Y-%m-%d %H:%M}",
                ]
                for sweep in answer["sweeps"]
            ],
            left=("sweep", "name", "state", "states", "created"),
            words=("name",),
            spare=("created", "states", "trials"),
        )
