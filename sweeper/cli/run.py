"""`sweeper run`: submit a sweep and execute it here."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from pathlib import Path

import click
from rich.console import Console

from engine.config import is_factory
from engine.data import load
from engine.factories import check_factory
from engine.operators import check_operators, needs_operators
from sweeper.cli.answers import best_answer
from sweeper.cli.best import print_groups
from sweeper.cli.interrupts import Interrupts
from sweeper.cli.options import json_option, print_json, store_option
from sweeper.cli.progress import make_view
from sweeper.gangs import EXECUTORS, make_executor
from sweeper.gangs.launcher import find_launcher
from sweeper.gangs.machine import local_capacity
from sweeper.paths import make_logs_folder
from sweeper.plan import plan
from sweeper.scheduler import Scheduler
from sweeper.seating import check_seating
from sweeper.spec import SweepSpec
from sweeper.spec_file import load_spec
from sweeper.store import Store, SweepRecord, open_store
from sweeper.trial import TrialSpec, TrialState


@click.command()
@click.argument("spec_path", metavar="SPEC", type=click.Path(path_type=Path))
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="FIELD=VALUE",
    help="Override a field of the spec, such as trial.images=10240; repeatable.",
)
@click.option(
    "--executor", type=click.Choice(EXECUTORS), default="ray", show_default=True, help="What runs the MPI jobs."
)
@click.option(
    "--ray-address", metavar="ADDRESS", help="Join this Ray cluster instead of starting a private Ray on this machine."
)
@store_option
@json_option
def run(
    spec_path: Path, overrides: tuple[str, ...], executor: str, ray_address: str | None, store_url: str, as_json: bool
) -> None:
    """Submit the sweep in the file SPEC and execute it here, with live progress.

    With --json progress goes to standard error, and the best per group to standard output. Interrupted, it ends the
    running trials, keeps all that was recorded, and exits with 130.
    """
    if ray_address and executor != "ray":
        raise click.UsageError("--ray-address goes with --executor ray only")
    spec = load_spec(spec_path, overrides)
    trials = plan(spec)
    if not ray_address:
        # Told at once, before Ray takes its seconds to start.
        check_seating(trials, local_capacity())
        find_launcher()
        if any(needs_operators(trial.config) for trial in trials):
            check_operators(cuda=_computes_on_gpus(trials))
        make_logs_folder()
        check_factories(trials)
        fetch_data(trials)
    with closing(open_store(store_url)) as store:
        sweep = _execute(store, spec, trials, executor, ray_address, Console(stderr=as_json))
        answer = best_answer(store, sweep.id)
    if as_json:
        print_json(answer)
    else:
        click.echo()
        print_groups(answer)
    if failed := sweep.states.get(TrialState.FAILED, 0):
        raise click.ClickException(f"{failed} of {sweep.trials} trials failed; `sweeper show {sweep.id}` says why")


def _execute(
    store: Store, spec: SweepSpec, trials: list[TrialSpec], executor_name: str, address: str | None, console: Console
) -> SweepRecord:
    if executor_name == "ray":
        console.print(f"joining Ray at {address}" if address else "starting Ray", markup=False, highlight=False)
    with Interrupts() as interrupts, closing(make_executor(executor_name, address)) as executor:
        check_seating(trials, executor.capacity())
        interrupts.defer()
        sweep_id = store.add_sweep(spec, trials)
        try:
            with make_view(console, store.find_sweep(sweep_id), store.trials(sweep_id)) as view:
                Scheduler(store, executor, view, interrupted=interrupts.asked, retries=spec.retries).run(sweep_id)
        except KeyboardInterrupt:
            left = store.find_sweep(sweep_id)
            console.print(
                f"interrupted: {left.ended} of {left.trials} trials ended; `sweeper show {sweep_id}` lists them",
                markup=False,
                highlight=False,
            )
            raise
    return store.find_sweep(sweep_id)


def _computes_on_gpus(trials: list[TrialSpec]) -> bool:
    return any(trial.resources.gpus_per_worker > 0 and trial.config.device != "cpu" for trial in trials)


def fetch_data(trials: list[TrialSpec]) -> None:
    """Have each data set of the trials on this machine, decoded, before ranks ask for it all at once."""
    for name in dict.fromkeys(trial.config.data for trial in trials):
        if not is_factory(name):
            load(name)


def check_factories(trials: list[TrialSpec]) -> None:
    """Look for the modules of models and data of the user's own, which the ranks will import from this folder.

    Raises:
        FactoryError: one is nowhere.
    """
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as ranks have it, and a command that pip has installed has not
    for name in ("model", "data"):
        for reference in dict.fromkeys(getattr(trial.config, name) for trial in trials):
            if is_factory(reference):
                check_factory(f"trial.{name}", reference)
