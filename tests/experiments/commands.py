"""Runs of a study's command, as the tests of every study need them."""

from __future__ import annotations

from pathlib import Path

import click
from click.testing import CliRunner

from experiments.study import copy_recorded


def run_small(main: click.Command, into: Path, *words: str) -> Path:
    """Run the small version of a study into a folder, and return the folder."""
    _done(main, "--quick", *words, "--into", str(into))
    return into


def redraw(main: click.Command, study: Path, into: Path) -> Path:
    """Copy a study's recorded result into a folder, redraw its tables and figures there, and return the folder."""
    copy_recorded(study, into)
    _done(main, "--redraw", "--into", str(into))
    return into


def _done(main: click.Command, *words: str) -> None:
    done = CliRunner().invoke(main, list(words))
    assert done.exit_code == 0, done.output
