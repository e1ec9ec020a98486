"""`sweeper run`: submit a sweep and execute it here."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from sweeper.cli.executing import audience_of, conclude, execution_options
from sweeper.execution import Execution, prepare_sweep, run_sweep
from sweeper.options import json_option, overrides_option, store_option
from sweeper.spec.file import load_spec
from sweeper.store import open_store


@click.command()
@click.argument("spec_path", metavar="SPEC", type=click.Path(path_type=Path))
@overrides_option
@click.option("--again", is_flag=True, help="Make a new sweep even if the store has one of the same spec.")
@click.option("--resume", is_flag=True, help="Go on with the latest sweep of this spec if the store has one.")
@execution_options
@store_option
@json_option
def run(
    spec_path: Path,
    overrides: tuple[str, ...],
    again: bool,
    resume: bool,
    execution: Execution,
    store_url: str,
    as_json: bool,
) -> None:
    """Run a sweep here, with live progress.

    SPEC is a YAML or JSON file. With --json, progress goes to standard error and the best per group to standard output.
    Ctrl-C ends the running trials, keeps everything that was recorded, and exits with 130; `sweeper resume` continues.
    With --finish-running it lets the running trials end first.
    """
    if again and resume:
        raise click.UsageError("--again makes another sweep, and --resume goes on with one; leave one of them")
    spec = load_spec(spec_path, overrides)
    prepared = prepare_sweep(spec, execution)
    with closing(open_store(store_url)) as store:
        sweep = run_sweep(store, prepared, execution, audience_of(as_json), again=again, resume=resume)
        conclude(store, sweep, execution, as_json)
