"""`sweeper extend`: more cells for a sweep."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path

import click

from sweeper.cli.executing import audience_of, conclude, execution_options
from sweeper.errors import SpecError
from sweeper.execution import Execution, Question, add_seeds, extend_sweep
from sweeper.options import (
    by_option,
    json_option,
    names_in,
    over_option,
    overrides_option,
    store_option,
    threshold_option,
)
from sweeper.spec.file import load_spec, spec_with
from sweeper.store import SweepRecord, open_store


@click.command()
@click.argument("sweep")
@click.argument("spec_path", metavar="[SPEC]", required=False, type=click.Path(path_type=Path))
@overrides_option
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    metavar="N",
    help="Train up to N more seeds of each setting that `sweeper best` cannot rule out, and of no others.",
)
@by_option
@threshold_option
@over_option
@execution_options
@store_option
@json_option
def extend(
    sweep: str,
    spec_path: Path | None,
    overrides: tuple[str, ...],
    seeds: int | None,
    by: tuple[str, ...],
    threshold: float | None,
    over: str | None,
    execution: Execution,
    store_url: str,
    as_json: bool,
) -> None:
    """Add trials to a sweep and run them.

    Adds the trials of the file SPEC that the sweep does not have; without SPEC, those of the sweep's own spec with what
    --set changes. Two trials are the same if all their settings, workers and resources are. A search goes on to
    `search.trials` trials in all, and knows the earlier ones: `sweeper extend latest --set search.trials=80`. Its space
    may be a wider one. Further seeds of a setting run to their end, whatever the pruning. Threshold, axis and groups
    stay those of the sweep.

    `--seeds 2` adds two more seeds of each setting that `sweeper best SWEEP` cannot rule out, fewer where fewer are
    enough. --by, --threshold and --over go with it: give what you give to `best`.
    """
    question = Question(names_in(by), threshold, over)
    if seeds is not None and (spec_path or overrides):
        raise click.UsageError("--seeds adds seeds of the sweep's own settings; omit SPEC and --set, or omit --seeds")
    if seeds is None and question != Question():
        raise click.UsageError("--by, --threshold and --over go with --seeds only")
    if seeds is not None:
        with closing(open_store(store_url, create=False)) as store:
            audience, tell = audience_of(as_json), partial(click.echo, err=True)
            found = add_seeds(store, sweep, seeds, question, execution, audience, tell)
            conclude(store, found, execution, as_json, question)
        return
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
