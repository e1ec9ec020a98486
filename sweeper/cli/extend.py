"""`sweeper extend`: more cells for a sweep."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path

import click

from sweeper.cli.executing import audience_of, conclude, execution_options
from sweeper.errors import SpecError
from sweeper.execution import Execution, extend_sweep
from sweeper.options import json_option, overrides_option, store_option
from sweeper.spec.file import load_spec, spec_with
from sweeper.store import SweepRecord, open_store


@click.command()
@click.argument("sweep")
@click.argument("spec_path", metavar="[SPEC]", required=False, type=click.Path(path_type=Path))
@overrides_option
@execution_options
@store_option
@json_option
def extend(
    sweep: str,
    spec_path: Path | None,
    overrides: tuple[str, ...],
    execution: Execution,
    store_url: str,
    as_json: bool,
) -> None:
    """Add trials to a sweep and run them.

    Adds the trials of the file SPEC that the sweep does not have; without SPEC, those of the sweep's own spec with what
    --set changes. Two trials are the same if all their settings, workers and resources are. A search goes on to
    `search.trials` trials in all, and knows the earlier ones: `sweeper extend latest --set search.trials=80`. Its space
    may be a wider one. Threshold, axis and groups stay those of the sweep.
    """
    spec = load_spec(spec_path, overrides) if spec_path else None
    with closing(open_store(store_url, create=False)) as store:
        if spec is None:
            spec = spec_with(_own_spec(store.sweeps.find(sweep)), overrides)
        found = extend_sweep(store, sweep, spec, execution, audience_of(as_json), partial(click.echo, err=True))
        conclude(store, found, execution, as_json)


def _own_spec(sweep: SweepRecord) -> dict[str, object]:
    if sweep.spec.written is None:
        raise SpecError([f"SPEC: sweep {sweep.id} is an import and has no spec of its own; name a file"])
    return sweep.spec.written
