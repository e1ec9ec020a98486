"""`sweeper watch`: follow a sweep that a service, or another process, runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import click
from rich.console import Console

from sweeper.answers.best import best_answer
from sweeper.answers.numbers import about
from sweeper.answers.progress import Follower, is_over
from sweeper.cli.best import print_groups, question_options
from sweeper.cli.server import Server, server_options
from sweeper.errors import ServerError, StoreError
from sweeper.options import json_option, print_json, store_option
from sweeper.store import Store, read_store

_LOOK_S = 0.5
_PATIENCE_S = 60.0  # with a service that has gone away
_PAUSE_S = 1.0


@click.command()
@click.argument("sweep", metavar="SWEEP")
@server_options()
@store_option
@json_option
def watch(sweep: str, server: Server | None, store_url: str, as_json: bool) -> None:
    """Follow a sweep until its last trial has ended.

    Then it shows the best of each group. With --json, each change is a line of JSON. It ends at once if nobody runs the
    sweep or is about to.
    """
    if server:
        with server.client() as client:
            found = client.find(sweep)
            last = _show(found, _followed(server, found["sweep"]), as_json)
            answer, options = client.best(found["sweep"]), None
    else:
        with closing(read_store(store_url)) as store:
            record = store.sweeps.find(sweep)
            last = _show({"sweep": record.id, "name": record.name}, _looked_at(store, record.id), as_json)
            answer = best_answer(store, record.id, recommend=True)
            options = question_options() if record.spec.written is not None else None
    if as_json:
        print_json(answer)
    else:
        print_groups(answer, options)
        click.echo(f"{answer['name']} ({answer['sweep']}): {last['state']}")
    if problem := last.get("problem"):
        raise click.ClickException(f"the sweep cannot be run: {problem['message']}; {problem['remedy']}")
    if failed := last.get("states", {}).get("failed", 0):
        raise click.ClickException(f"{failed} of {last['total']} trials failed; `sweeper show` says why")


def _show(sweep: dict[str, Any], changes: Iterator[dict[str, Any]], as_json: bool) -> dict[str, Any]:
    """Write each change; the last of them."""
    console = Console(stderr=True)
    heading, last = f"{sweep['name']} ({sweep['sweep']})", {}
    spinner = "dots" if console.encoding.startswith("utf") else "line"
    with console.status("", spinner=spinner) as status:
        shown = ""
        for last in changes:
            line = f"{heading}: {progress_line(last)}"
            if as_json:
                print_json(last, indent=None)
            elif console.is_terminal:
                status.update(line.replace("[", r"\["))
            elif _without_time(last) != shown:
                shown = _without_time(last)
                click.echo(line, err=True)
    return last


def progress_line(progress: dict[str, Any]) -> str:
    """How far a sweep is, in a line for people."""
    parts = [progress["state"], f"{progress['ended']} of {progress['total']} trials ended"]
    parts += [
        f"{count} {state}" for state, count in progress["states"].items() if state not in ("completed", "pending")
    ]
    if progress["seconds_left"] is not None:
        low, high = about(progress["seconds_left_low"]), about(progress["seconds_left_high"])
        left = f"about {about(progress['seconds_left'])} left"
        parts.append(left if low == high else f"{left} ({low} to {high})")
    return ", ".join(parts)


def _without_time(progress: dict[str, Any]) -> str:
    return str((progress["state"], progress["ended"], progress["total"], progress["states"]))


def _followed(server: Server, sweep_id: str) -> Iterator[dict[str, Any]]:
    """What a service says; where it goes away, and is there again within a minute, what it says then."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            with server.client() as client:
                for progress in client.follow(sweep_id):
                    deadline = time.monotonic() + _PATIENCE_S
                    yield progress
                    if is_over(progress) and _stays_over(lambda: client.progress(sweep_id)):
                        return
        except (ServerError, StoreError):
            if time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE_S)


def _looked_at(store: Store, sweep_id: str) -> Iterator[dict[str, Any]]:
    follower, before = Follower(store, sweep_id), None

    def look() -> dict[str, Any]:
        return follower.progress(follower.running())

    while True:
        progress = look()
        if progress != before:
            before = progress
            yield progress
        if is_over(progress) and _stays_over(look):
            return
        time.sleep(_LOOK_S)


def _stays_over(look: Callable[[], dict[str, Any]]) -> bool:
    """Whether it is so a moment later: a race or a search adds trials only when those before have ended."""
    time.sleep(_PAUSE_S)
    return is_over(look())
