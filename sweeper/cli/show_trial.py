"""How `sweeper show` prints a single trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from sweeper.answers.numbers import measure, parameter
from sweeper.answers.one_trial import flat
from sweeper.answers.trial_words import area_words, footnotes, state_words
from sweeper.cli.printing import print_table

_LAST = 5  # points and evaluations that are shown
_RESULT = ("minimum_loss", "final_loss", "seconds", "images", "steps", "points")
_POINT = ("step", "images", "seconds", "loss")


def print_trial(answer: Mapping[str, Any]) -> None:
    """The answer of `one_trial_answer` for people: the result, each attempt, the end of the curve, and all settings."""
    click.echo(f"trial {answer['trial']} of {answer['name']} ({answer['sweep']}): {state_words(answer)}")
    click.echo(" ".join(f"{name}={parameter(value)}" for name, value in answer["parameters"].items()))
    if answer["reason"]:
        click.echo(" ".join(answer["reason"].split()))
    if answer["derived_from"]:
        click.echo(f"derived: the losses of trial {answer['derived_from']} at the times of its own steps")
    if answer["points"]:
        _print_result(answer)
    _print_attempts(answer["attempts"])
    _print_phases(answer["attempts"])
    _print_end("evaluation", (*_POINT, "accuracy"), answer["evaluations"])
    _print_end("loss point", _POINT, answer["curve"])
    _print_settings(answer)
    for line in footnotes([answer]):
        click.echo(line)
    click.echo(f"\n--json has all of it; `sweeper log {answer['trial']}` prints what its ranks printed.")


def _print_result(answer: Mapping[str, Any]) -> None:
    areas = answer["areas"]
    shown = [area_words(area, is_bound=answer["area_is_bound"]) for area in areas.values()]
    click.echo()
    headers = [f"area over {axis}" for axis in areas]
    print_table([*headers, *_RESULT], [[*shown, *(measure(answer[name]) for name in _RESULT)]], keep=headers[:1])


def _print_attempts(attempts: Sequence[Mapping[str, Any]]) -> None:
    if not attempts:
        return
    click.echo()
    headers = ["attempt", "state", "started (UTC)", "took, s", "start-up, s", "set-up, s", "hosts", "device"]
    rows = [
        [
            str(one["number"]),
            one["state"],
            one["started_at"].partition("+")[0].replace("T", " "),
            *(measure(one[name]) for name in ("seconds", "startup_seconds", "setup_seconds")),
            ", ".join(one["hosts"]) or "-",
            str(one["effective"].get("device_name") or one["effective"].get("device") or "-"),
        ]
        for one in attempts
    ]
    words = ("state", "started (UTC)", "hosts", "device")
    print_table(headers, rows, left=words, words=words[2:], spare=("device", "set-up, s", "start-up, s"))
    for one in attempts:
        if one["reason"]:
            click.echo(f"attempt {one['number']}: {' '.join(one['reason'].split())}")


def _print_phases(attempts: Sequence[Mapping[str, Any]]) -> None:
    """Those of the last attempt that has some."""
    last = next((one for one in reversed(attempts) if one["phases"]), None)
    if last is None:
        return
    click.echo()
    print_table(
        [f"phase of attempt {last['number']}", "seconds", "seconds per step"],
        [
            [name, measure(seconds), measure(last["per_step"].get(name))]
            for name, seconds in sorted(last["phases"].items(), key=lambda phase: -phase[1])
        ],
        left=[f"phase of attempt {last['number']}"],
    )


def _print_end(what: str, names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """The last of so many rows."""
    if not rows:
        return
    shown = rows[-_LAST:]
    of_all = f"last {len(shown)} of {len(rows)} {what}s" if len(rows) > len(shown) else f"{what}s"
    click.echo(f"\n{of_all}:")
    print_table(names, [[measure(row[name]) for name in names] for row in shown])


def _print_settings(answer: Mapping[str, Any]) -> None:
    """As they were asked for; how they took effect is beside them where that is another value."""
    done = flat(answer["attempts"][-1]["effective"]) if answer["attempts"] else {}
    rows = [
        [name, parameter(value), "" if done.get(name, value) in (value, None) else parameter(done[name])]
        for name, value in flat(answer["config"] | {"resources": answer["resources"]}).items()
        if value is not None
    ]
    changed = any(row[2] for row in rows)
    headers = ["setting", "value", *(["took effect as"] if changed else [])]
    click.echo()
    print_table(headers, [row[: len(headers)] for row in rows], left=headers, words=headers[1:])
