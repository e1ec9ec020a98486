"""`sweeper doctor`: what works here, and how to mend what does not."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click
from rich.console import Console
from rich.text import Text

from sweeper.answers.doctor import CHECKS, Finding
from sweeper.options import json_option, print_json, store_option

_COLOURS = {"ok": "green", "absent": "yellow", "failed": "red"}
_WIDTH = 8


@click.command()
@store_option
@json_option
def doctor(store_url: str, as_json: bool) -> None:
    """Check MPI, Ray, the compiler, CUDA, the store and the data.

    Each problem comes with its remedy. Exits with 1 if something that sweeps need does not work; a missing GPU or data
    set is not a failure.
    """
    findings = _print_table(store_url) if not as_json else list(_findings(store_url))
    if as_json:
        print_json({"checks": [vars(finding) for finding in findings]})
    if any(finding.status == "failed" for finding in findings):
        raise SystemExit(1)


def _findings(store_url: str) -> Iterator[Finding]:
    for check in CHECKS:
        yield from check(store_url)


def _print_table(store_url: str) -> list[Finding]:
    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
    findings: list[Finding] = []
    for finding in _findings(store_url):
        findings.append(finding)
        told = Text("\n").join(map(Text, filter(None, (f"{finding.name}: {finding.detail}", finding.remedy))))
        lines = told.wrap(console, console.width - _WIDTH) if sys.stdout.isatty() else told.split("\n")
        for number, line in enumerate(lines):
            mark = "" if number else finding.status
            console.print(Text.assemble((f"{mark:<{_WIDTH}}", _COLOURS[finding.status]), line))
    return findings
