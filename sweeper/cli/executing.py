"""What the commands that execute trials share: their options, their console, and their last words."""

from __future__ import annotations

import functools
from collections.abc import Callable

import click
from rich.console import Console

from sweeper.answers.best import best_answer
from sweeper.cli.best import print_groups, question_options
from sweeper.execution import Execution, Question
from sweeper.gangs import EXECUTORS, Growth
from sweeper.live_view import on_console
from sweeper.options import autoscale_option, print_json
from sweeper.plan.trial import TrialState
from sweeper.scheduling.observer import Audience
from sweeper.store import Store, SweepRecord
from sweeper.streams import losses_ignored


def execution_options(function: Callable[..., None]) -> Callable[..., None]:
    """What runs the trials, where, and on which cores and GPUs, as one `execution`."""

    @functools.wraps(function)
    def gathered(
        executor: str,
        ray_address: str | None,
        autoscale: Growth | None,
        finish_running: bool,
        oversubscribe: bool,
        wait_for_seats: bool,
        one_at_a_time: bool,
        **others: object,
    ) -> None:
        if ray_address and executor != "ray":
            raise click.UsageError("--ray-address goes with --executor ray only")
        if autoscale and not ray_address:
            raise click.UsageError("--autoscale goes with --ray-address only")
        if wait_for_seats and not oversubscribe:
            raise click.UsageError("--wait-for-seats goes with --oversubscribe; without it a run always waits")
        seating = (oversubscribe, wait_for_seats, autoscale, one_at_a_time)
        execution = Execution(executor, ray_address, finish_running, *seating)
        with losses_ignored():
            function(execution=execution, **others)

    sharing = click.option(
        "--oversubscribe",
        is_flag=True,
        help="Let ranks share cores or GPUs if there are too few, or other sweeps hold them; such trials are marked "
        "and not ranked over seconds.",
    )
    waiting = click.option(
        "--wait-for-seats",
        is_flag=True,
        help="With --oversubscribe: share only if the machine has too few cores or GPUs in all, and wait for those "
        "that other sweeps hold.",
    )
    alone = click.option(
        "--one-at-a-time",
        is_flag=True,
        help="Run no trial beside another, so that none shares memory and caches; use it if you want to compare times.",
    )
    finish = click.option(
        "--finish-running",
        is_flag=True,
        help="On an interrupt, start nothing new and let the running trials finish; on a second one, end them.",
    )
    address = click.option(
        "--ray-address", metavar="ADDRESS", help="Join this Ray cluster instead of starting a private Ray here."
    )
    executor = click.option(
        "--executor", type=click.Choice(EXECUTORS), default="ray", show_default=True, help="What runs the MPI jobs."
    )
    return executor(address(autoscale_option(finish(sharing(waiting(alone(gathered)))))))


def audience_of(as_json: bool) -> Audience:
    """Progress on standard output, or on standard error where JSON goes to the former."""
    return on_console(Console(stderr=as_json))


def conclude(
    store: Store, sweep: SweepRecord, execution: Execution, as_json: bool, question: Question | None = None
) -> None:
    """Print the best per group and the sweep's state; raises ClickException where trials have failed."""
    asked = question or Question()
    answer = best_answer(store, sweep.id, asked.by, asked.threshold, asked.over, recommend=True)
    if as_json:
        print_json(answer)
    else:
        click.echo()
        options = question_options(asked.by, asked.threshold, asked.over) + execution.options
        print_groups(answer, options if sweep.spec.written is not None else None)
        click.echo(f"{sweep.name} ({sweep.id}): {sweep.state}")
    if failed := sweep.states.get(TrialState.FAILED, 0):
        raise click.ClickException(
            f"{failed} of {sweep.trials} trials failed; `sweeper show {sweep.id}` says why, "
            f"`sweeper rerun --failed {sweep.id}{execution.options}` tries them again"
        )
