"""`sweeper rerun`: another attempt at what failed, or at what shared cores or GPUs."""

from __future__ import annotations

import shutil
from contextlib import closing, suppress

import click

from sweeper.cli.executing import audience_of, conclude, execution_options
from sweeper.errors import NotFoundError, StoreError
from sweeper.execution import Execution, resume_sweep
from sweeper.gangs.machine import local_capacity
from sweeper.gangs.seats import seats_of
from sweeper.options import json_option, store_option
from sweeper.paths import checkpoints_folder
from sweeper.plan.trial import KEPT, TrialState
from sweeper.scheduling.admission import shape_of
from sweeper.store import Store, SweepRecord, TrialRecord, open_store


@click.command()
@click.argument("sweep")
@click.option("--failed", is_flag=True, help="Rerun the trials that failed.")
@click.option(
    "--oversubscribed",
    is_flag=True,
    help="Rerun the trials whose ranks shared cores or GPUs. Each keeps its result until its new attempt has one.",
)
@execution_options
@store_option
@json_option
def rerun(
    sweep: str,
    failed: bool,
    oversubscribed: bool,
    execution: Execution,
    store_url: str,
    as_json: bool,
) -> None:
    """Run failed or oversubscribed trials again.

    Each gets a new attempt; the old ones stay. Trials that still wait are run as well. If the new attempt at an
    oversubscribed trial fails, is stopped or is interrupted, the trial returns to its old result.
    """
    if not (failed or oversubscribed):
        raise click.UsageError("say which trials: --failed, --oversubscribed or both")
    with closing(open_store(store_url, create=False)) as store:
        found = store.sweeps.find(sweep)
        shared = _oversubscribed(store, found, execution) if oversubscribed else []
        _check(found, shared, failed=failed, oversubscribed=oversubscribed)
        try:
            found = resume_sweep(
                store,
                found.id,
                execution,
                audience_of(as_json),
                states=[TrialState.PENDING, TrialState.RUNNING, *([TrialState.FAILED] if failed else [])],
                added=[trial.planned for trial in shared],
                change=lambda: _let_wait(store, found.id, shared, failed=failed),
            )
        except BaseException:  # an interrupt too
            with suppress(StoreError):
                if store.sweeps.keep_results(found.id):
                    click.echo("trials that were to be repeated keep their old results", err=True)
            raise
        conclude(store, found, as_json)
        _say_what_is_left(store, found, shared)


def _oversubscribed(store: Store, sweep: SweepRecord, execution: Execution) -> list[TrialRecord]:
    """The oversubscribed trials; those that this machine cannot seat are left out, unless it can seat none."""
    found = [trial for trial in store.trials.of(sweep.id, KEPT) if trial.oversubscribed]
    if execution.oversubscribe or execution.ray_address:
        return found
    capacity = local_capacity()
    seated = [trial for trial in found if capacity.can_ever_seat(seats_of(*shape_of(trial)))]
    if seated and len(seated) < len(found):
        left = f"{len(found) - len(seated)} of {len(found)} oversubscribed trials are left out"
        click.echo(f"{left}: this machine has too few cores or GPUs for them", err=True)
    return seated or found


def _check(sweep: SweepRecord, shared: list[TrialRecord], *, failed: bool, oversubscribed: bool) -> None:
    """Raises NotFoundError where there is nothing to be run again."""
    if shared or (failed and sweep.states.get(TrialState.FAILED)):
        return
    kinds = [*(["has failed"] if failed else []), *(["is oversubscribed"] if oversubscribed else [])]
    raise NotFoundError(f"sweep {sweep.id}: none of its trials {' or '.join(kinds)}", "there is nothing to run again")


def _let_wait(store: Store, sweep_id: str, shared: list[TrialRecord], *, failed: bool) -> None:
    if failed:
        store.sweeps.try_failed_again(sweep_id)
    for trial in shared:
        shutil.rmtree(checkpoints_folder(trial.id), ignore_errors=True)  # a new attempt begins at the beginning
    store.sweeps.repeat_oversubscribed(sweep_id, [trial.id for trial in shared])


def _say_what_is_left(store: Store, sweep: SweepRecord, shared: list[TrialRecord]) -> None:
    """Raises ClickException where trials have still the result that they had."""
    before = {trial.id: trial.attempt for trial in shared}
    kept = sum(before.get(trial.id) == trial.attempt for trial in store.trials.of(sweep.id, KEPT))
    if kept:
        raise click.ClickException(
            f"{kept} of {len(shared)} oversubscribed trials keep their old result: their new attempts failed or were "
            f"stopped; `sweeper rerun --oversubscribed {sweep.id}` tries them again"
        )
