"""`sweeper run`: submit a sweep and execute it here."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path

import click
from pydantic import ValidationError
from rich.console import Console

from sweeper.cli.executing import Execution, conclude, execute, execution_options, prepare
from sweeper.cli.options import json_option, overrides_option, store_option
from sweeper.errors import RepeatedError
from sweeper.plan import outermost, plan
from sweeper.spec import SweepSpec
from sweeper.spec_file import load_spec
from sweeper.store import Store, SweepRecord, open_store


@click.command()
@click.argument("spec_path", metavar="SPEC", type=click.Path(path_type=Path))
@overrides_option
@click.option("--again", is_flag=True, help="Make a new sweep also where the store has one of the same spec.")
@execution_options
@store_option
@json_option
def run(
    spec_path: Path,
    overrides: tuple[str, ...],
    again: bool,
    execution: Execution,
    store_url: str,
    as_json: bool,
) -> None:
    """Submit the sweep in the file SPEC and execute it here, with live progress.

    With --json progress goes to standard error, and the best per group to standard output. Interrupted, it ends the
    running trials (or see --finish-running), keeps all that was recorded, and exits with 130; `sweeper resume` goes on.
    """
    spec = load_spec(spec_path, overrides)
    trials = plan(spec)
    needed = [*trials, *outermost(spec)] if spec.search.learns else trials
    prepare(needed, execution)
    with closing(open_store(store_url)) as store:
        if not again:
            refuse_repetition(store, spec)
        console = Console(stderr=as_json)
        sweep = execute(store, needed, execution, console, lambda: store.add_sweep(spec, trials))
        conclude(store, sweep, as_json)


def refuse_repetition(store: Store, spec: SweepSpec) -> None:
    """See that the store has no sweep of this spec.

    Raises:
        RepeatedError: it has, and how far that one is.
    """
    same = next((sweep for sweep in store.sweeps() if sweep.name == spec.name and _spec_of(sweep) == spec), None)
    if same:
        left = f"`sweeper resume {same.id}` goes on with it, " if same.ended < same.total else ""
        raise RepeatedError(
            f"spec: sweep {same.id} of {store.name} has the same one, and {same.ended} of its {same.total} trials "
            "have ended",
            f"{left}`sweeper best {same.id}` shows it, --again makes another",
        )


def _spec_of(sweep: SweepRecord) -> SweepSpec | None:
    """The spec of a sweep, with what fields that came later stand for; None where it has none that is one now."""
    with suppress(ValidationError):
        return SweepSpec.model_validate(sweep.spec) if sweep.spec else None
    return None
