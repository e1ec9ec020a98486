"""`sweeper upgrade`: a store of an earlier version for this one."""

from __future__ import annotations

import click

from sweeper.options import json_option, print_json, store_option
from sweeper.store.upgrading import upgrade_store


@click.command()
@store_option
@json_option
def upgrade(store_url: str, as_json: bool) -> None:
    """Bring a store of an earlier version to this version's schema.

    Keeps a copy of a SQLite file beside it. Back a PostgreSQL database up yourself first, for example with `pg_dump`.
    A store that has this version's schema stays as it is.
    """
    done = upgrade_store(store_url)
    if as_json:
        backup = None if done.backup is None else str(done.backup)
        print_json({"store": done.store, "before": done.before, "after": done.after, "backup": backup})
    elif done.before == done.after:
        click.echo(f"{done.store} has schema {done.after} already; nothing was changed")
    else:
        kept = f"the store as it was is in {done.backup}" if done.backup else "no backup was made"
        click.echo(f"upgraded {done.store} from schema {done.before} to {done.after}; {kept}")
