"""`sweeper stop` and `sweeper delete`, also of sweeps that run."""

from __future__ import annotations

import shutil
import time
from contextlib import closing
from typing import NamedTuple

import click

from sweeper.cli.server import Server, server_options
from sweeper.errors import UsageError
from sweeper.gangs.process_identity import is_gone
from sweeper.options import json_option, print_json, store_option
from sweeper.paths import logs_folder
from sweeper.plan.trial import TrialState
from sweeper.store import Store, open_store

_WAIT_S, _PAUSE_S = 120.0, 0.5


@click.command()
@click.argument("sweep")
@server_options()
@store_option
@json_option
def stop(sweep: str, server: Server | None, store_url: str, as_json: bool) -> None:
    """Stop a sweep for good.

    Waiting trials are cancelled; running trials end at their next loss point. What was recorded stays. Returns once
    nothing runs any more.
    """
    stopped = _stop_by(server, sweep) if server else _stop_in(store_url, sweep)
    if as_json:
        print_json(
            {
                "sweep": stopped.sweep,
                "state": stopped.state,
                "cancelled": stopped.all_cancelled,
                "ended": stopped.ended,
                "running": stopped.running,
            }
        )
    else:
        waiting = f"{_count(stopped.cancelled, 'waiting trial')} cancelled"
        running = f"{_count(stopped.ended, 'running trial')} ended, {stopped.running} still running"
        click.echo(f"sweep {stopped.sweep}: {stopped.state}; {waiting}, {running}")


@click.command()
@click.argument("sweep")
@click.option("--yes", is_flag=True, help="Do not ask.")
@store_option
@json_option
def delete(sweep: str, yes: bool, store_url: str, as_json: bool) -> None:
    """Delete a sweep with everything recorded of it.

    A running sweep is stopped first.
    """
    with closing(open_store(store_url, create=False)) as store:
        found = store.sweeps.find(sweep)
        if not yes:
            _ask(f"delete sweep {found.id} ({found.name}) with its {found.trials} trials?")
        store.sweeps.ask_to_stop(found.id)
        if running := _wait(store, found.id):
            raise UsageError(
                f"sweep {found.id}: {running} of its trials still run after {_WAIT_S:.0f} s",
                "end their scheduler, then delete again",
            )
        store.sweeps.delete(found.id)
        shutil.rmtree(logs_folder() / found.id, ignore_errors=True)
    if as_json:
        print_json({"sweep": found.id, "deleted": True})
    else:
        click.echo(f"sweep {found.id}: deleted")


def _ask(question: str) -> None:
    """Raises UsageError where nobody can answer, and Abort for no."""
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort as abort:
        if not isinstance(abort.__context__, EOFError):
            raise
        click.echo(err=True)
        raise UsageError("delete: asks first, and standard input gives no answer", "add --yes") from None
    if not agreed:
        raise click.Abort


class _Stopped(NamedTuple):
    sweep: str
    state: str
    cancelled: int  # now, for they waited
    all_cancelled: int
    ended: int  # of those that ran
    running: int


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _stop_in(store_url: str, reference: str) -> _Stopped:
    with closing(open_store(store_url, create=False)) as store:
        found = store.sweeps.find(reference)
        ran = found.states.get(TrialState.RUNNING, 0)
        cancelled = store.sweeps.ask_to_stop(found.id)
        running = _wait(store, found.id)
        found = store.sweeps.find(found.id)
        all_cancelled = found.states.get(TrialState.CANCELLED, 0)
        return _Stopped(found.id, found.state, cancelled, all_cancelled, max(0, ran - running), running)


def _stop_by(server: Server, reference: str) -> _Stopped:
    with server.client() as client:
        sweep_id = client.find(reference)["sweep"]
        asked = client.stop(sweep_id)
        deadline = time.monotonic() + _WAIT_S
        while True:
            status = client.status(sweep_id)
            states = status["states"]
            running = states.get(TrialState.RUNNING.value, 0)
            if not running or time.monotonic() > deadline:
                all_cancelled = states.get(TrialState.CANCELLED.value, 0)
                ended = max(0, asked["running"] - running)
                return _Stopped(sweep_id, status["state"], asked["cancelled"], all_cancelled, ended, running)
            time.sleep(_PAUSE_S)


def _wait(store: Store, sweep_id: str) -> int:
    """Until nothing of a stopped sweep runs, or patience ends; how many trials still do."""
    deadline = time.monotonic() + _WAIT_S
    while True:
        # What nobody runs any more goes back to pending, and is cancelled as the rest that waits.
        if store.leases.release_left_behind(sweep_id, lambda other: is_gone(other.host, other.process)):
            store.sweeps.ask_to_stop(sweep_id)
        running = len(store.trials.of(sweep_id, [TrialState.RUNNING]))
        if not running or time.monotonic() > deadline:
            return running
        time.sleep(_PAUSE_S)
