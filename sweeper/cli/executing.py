"""What the commands that execute trials share: their options, what is looked at before anything starts, the run."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

import click
from rich.console import Console

from engine.config import TrainingConfig, is_factory
from engine.data import load
from engine.factories import check_factory
from engine.operators import check_operators, needs_operators
from sweeper.cli.answers import best_answer
from sweeper.cli.best import print_groups
from sweeper.cli.interrupts import Interrupts
from sweeper.cli.options import print_json
from sweeper.cli.progress import make_view
from sweeper.gangs import EXECUTORS, make_executor
from sweeper.gangs.launcher import find_launcher
from sweeper.gangs.machine import local_capacity
from sweeper.gangs.processes import kill_gangs
from sweeper.paths import make_logs_folder
from sweeper.plan import outermost
from sweeper.scheduler import Scheduler
from sweeper.search import guide_for
from sweeper.seating import check_seating
from sweeper.spec import Limits, SweepSpec
from sweeper.store import Store, SweepRecord
from sweeper.trial import TrialSpec, TrialState


@dataclass(frozen=True)
class Execution:
    """How a command is to run trials: by which executor, on whose Ray, and what an interrupt does."""

    executor: str
    ray_address: str | None
    finish_running: bool
    oversubscribe: bool


def execution_options(function: Callable[..., None]) -> Callable[..., None]:
    """`--executor`, `--ray-address`, `--finish-running`, `--oversubscribe`: the command gets one `execution`."""

    @functools.wraps(function)
    def gathered(
        executor: str, ray_address: str | None, finish_running: bool, oversubscribe: bool, **others: object
    ) -> None:
        if ray_address and executor != "ray":
            raise click.UsageError("--ray-address goes with --executor ray only")
        function(execution=Execution(executor, ray_address, finish_running, oversubscribe), **others)

    sharing = click.option(
        "--oversubscribe",
        is_flag=True,
        help="Let ranks share cores or GPUs where these are too few, or other sweeps have them; such trials are "
        "marked, and not ranked over seconds.",
    )
    finish = click.option(
        "--finish-running",
        is_flag=True,
        help="Interrupted, start no more and let the running trials end; interrupted again, end them.",
    )
    address = click.option(
        "--ray-address", metavar="ADDRESS", help="Join this Ray cluster instead of starting a private Ray here."
    )
    executor = click.option(
        "--executor", type=click.Choice(EXECUTORS), default="ray", show_default=True, help="What runs the MPI jobs."
    )
    return executor(address(finish(sharing(gathered))))


def prepare(trials: Sequence[TrialSpec], execution: Execution) -> None:
    """Look for all that the trials need, before anything is submitted or started: seats, MPI, operators, data.

    Raises:
        SeatingError, LaunchError, OperatorsError, DataError, FactoryError: something is missing.
    """
    if execution.ray_address:
        return  # the cluster's hosts have it, or say so
    check_seating(trials, local_capacity(), oversubscribe=execution.oversubscribe)
    find_launcher()
    make_logs_folder()
    training = [(trial.config, trial.resources) for trial in trials if isinstance(trial.config, TrainingConfig)]
    if any(needs_operators(config) for config, _ in training):
        check_operators(cuda=any(gives.gpus_per_worker > 0 and config.device != "cpu" for config, gives in training))
    check_factories([config for config, _ in training])
    fetch_data([config for config, _ in training])


def execute(
    store: Store,
    trials: Sequence[TrialSpec],
    execution: Execution,
    console: Console,
    submit: Callable[[], str],
) -> SweepRecord:
    """Run what waits of the sweep whose id `submit` gives, which is called when all is ready for it."""
    name, address = execution.executor, execution.ray_address
    if name == "ray":
        console.print(f"joining Ray at {address}" if address else "starting Ray", markup=False, highlight=False)
    with Interrupts() as interrupts, closing(make_executor(name, address, share=execution.oversubscribe)) as executor:
        check_seating(trials, executor.capacity(), oversubscribe=execution.oversubscribe)
        interrupts.defer(kill_gangs, at=2 + execution.finish_running)
        sweep_id = submit()
        sweep = store.find_sweep(sweep_id)
        try:
            trials_now = store.trials(sweep_id)
            with make_view(console, sweep, trials_now) as view:
                spec = sweep.spec or {}
                scheduler = Scheduler(
                    store,
                    executor,
                    view,
                    interrupts=interrupts.count,
                    finish_running=execution.finish_running,
                    retries=spec.get("retries", 0),
                    limits=Limits.model_validate(spec.get("limits", {})),
                    oversubscribe=execution.oversubscribe,
                    guide=guide_for(sweep, trials_now, store.points),
                )
                scheduler.run(sweep_id)
        except KeyboardInterrupt:
            left = store.find_sweep(sweep_id)
            console.print(
                f"interrupted: {left.ended} of {left.total} trials ended; "
                f"`sweeper show {sweep_id}` lists them, `sweeper resume {sweep_id}` goes on",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
            raise
    return store.find_sweep(sweep_id)


def resume_sweep(
    store: Store,
    sweep_id: str,
    execution: Execution,
    as_json: bool,
    *,
    states: Sequence[TrialState] = (TrialState.PENDING, TrialState.RUNNING),
    added: Sequence[TrialSpec] = (),
    change: Callable[[], object] = lambda: None,
) -> None:
    """Run what waits of a sweep, and say what came of it.

    `change` has more of it wait, the trials in `states` and those `added`, and is called when all that these and the
    rest need is found to be there.
    """
    waiting = (trial.planned for trial in store.trials(sweep_id, states))
    specs = [*waiting, *added, *to_come(store.find_sweep(sweep_id))]
    prepare(specs, execution)
    change()
    store.forget_stop(sweep_id)
    sweep = execute(store, specs, execution, Console(stderr=as_json), lambda: sweep_id)
    conclude(store, sweep, as_json)


def conclude(store: Store, sweep: SweepRecord, as_json: bool) -> None:
    """Print the best per group; raises ClickException where trials have failed."""
    answer = best_answer(store, sweep.id)
    if as_json:
        print_json(answer)
    else:
        click.echo()
        print_groups(answer)
    if failed := sweep.states.get(TrialState.FAILED, 0):
        raise click.ClickException(
            f"{failed} of {sweep.trials} trials failed; `sweeper show {sweep.id}` says why, "
            f"`sweeper rerun --failed {sweep.id}` tries them again"
        )


def to_come(sweep: SweepRecord) -> list[TrialSpec]:
    """Trials that need all that those may need which a search is still to add; none where none is."""
    if sweep.trials == sweep.total:
        return []
    return outermost(SweepSpec.model_validate(sweep.spec))


def fetch_data(configs: Sequence[TrainingConfig]) -> None:
    """Have each data set of the trials on this machine, decoded, before ranks ask for it all at once."""
    for name in dict.fromkeys(config.data for config in configs):
        if not is_factory(name):
            load(name)


def check_factories(configs: Sequence[TrainingConfig]) -> None:
    """Look for the modules of models and data of the user's own, which the ranks will import from this folder.

    Raises:
        FactoryError: one is nowhere.
    """
    for name in ("model", "data"):
        for reference in filter(is_factory, dict.fromkeys(getattr(config, name) for config in configs)):
            if os.getcwd() not in sys.path:
                sys.path.insert(0, os.getcwd())  # as ranks have it, and a command that pip has installed has not
            check_factory(f"trial.{name}", reference)
