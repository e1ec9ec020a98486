"""`sweeper extend`: more cells for a sweep."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from sweeper.cli.executing import audience_of, conclude, execution_options
from sweeper.errors import SpecError
from sweeper.execution import Execution, resume_sweep
from sweeper.options import json_option, overrides_option, store_option
from sweeper.plan import plan
from sweeper.spec.file import load_spec
from sweeper.store import open_store


@click.command()
@click.argument("sweep")
@click.argument("spec_path", metavar="SPEC", type=click.Path(path_type=Path))
@overrides_option
@execution_options
@store_option
@json_option
def extend(
    sweep: str,
    spec_path: Path,
    overrides: tuple[str, ...],
    execution: Execution,
    store_url: str,
    as_json: bool,
) -> None:
    """Add trials to a sweep and run them.

    Adds the trials of the file SPEC that the sweep does not have. Two trials are the same if all their settings,
    workers and resources are. Threshold, axis and groups stay those of the sweep.
    """
    spec = load_spec(spec_path, overrides)
    if spec.search.method != "grid":
        raise SpecError([f"search: {spec.search.method} adds nothing to a sweep that is there; write search: grid"])
    trials = plan(spec)
    with closing(open_store(store_url, create=False)) as store:
        found = store.sweeps.find(sweep)
        missing = [name for name in found.group_by if any(name not in trial.parameters for trial in trials)]
        if missing:
            raise SpecError([f"space: sweep {found.id} is grouped by {missing[0]}, which is not swept; add it"])

        def add() -> None:
            new, sweep_id = len(store.sweeps.extend(found.id, trials)), found.id
            click.echo(f"sweep {sweep_id}: {new} new trials, {len(trials) - new} that it has already", err=True)

        found = resume_sweep(store, found.id, execution, audience_of(as_json), added=trials, change=add)
        conclude(store, found, as_json)
