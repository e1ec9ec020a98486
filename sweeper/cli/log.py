"""`sweeper log`: what the ranks of a trial printed."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from typing import Any

import click

from sweeper.answers.printed import printed_answer
from sweeper.options import json_option, print_json, store_option
from sweeper.store import read_store

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # but for tabs and line ends


@click.command()
@click.argument("trial")
@click.option("--attempt", type=click.IntRange(min=1), help="The attempt at the trial. By default the latest.")
@store_option
@json_option
def log(trial: str, attempt: int | None, store_url: str, as_json: bool) -> None:
    """Print what the ranks of a trial printed.

    TRIAL is an id, or the beginning of one; `sweeper show SWEEP --ids` shows them. When an attempt ends, the store
    keeps the last 64 KiB of it.
    """
    with closing(read_store(store_url)) as store:
        answer = printed_answer(store, trial, attempt)
    if as_json:
        print_json(answer)
    else:
        _print(answer)


def _shown(text: str) -> str:
    """Without what would command a terminal; to files and pipes it goes as it was printed."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text) if sys.stdout.isatty() else text


def _print(answer: Mapping[str, Any]) -> None:
    note = partial(click.echo, err=True)
    which = f"attempt {answer['attempt']} of trial {answer['trial']}"
    if answer["state"] == "running":
        note(f"{which} is running; what its ranks print is in {answer['log']} on the scheduler's machine")
    elif not answer["text"]:
        note(f"{which}: the store has no output from its ranks")
    elif answer["omitted"]:
        note(f"{which}: the {answer['omitted']} bytes before this are in {answer['log']} on the scheduler's machine")
    click.echo(_shown(answer["text"]), nl=not answer["text"].endswith("\n") and bool(answer["text"]))
