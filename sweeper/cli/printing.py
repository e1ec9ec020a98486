"""How commands print tables."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

_PIPED_WIDTH = 1000


def measures_of(trials: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of what was measured of trials, for a table of them; accuracy only where any of them has one."""
    evaluated = any(trial["accuracy"] is not None for trial in trials)
    return ["area", "minimum_loss", "seconds", "images", *(["accuracy"] if evaluated else [])]


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str] = ()) -> None:
    """A table on standard output, numbers to the right and the columns named in `left` to the left.

    In a terminal it is fitted to the width, headers are stacked, and cells may have several lines; in a pipe it is as
    wide as it needs to be, with a line for each row. Nothing is cut off.
    """
    terminal = sys.stdout.isatty()
    width = None if terminal else _PIPED_WIDTH
    console = Console(width=width, markup=False, emoji=False, highlight=False)
    table = Table(box=None, pad_edge=False)
    for header in headers:
        title = header.replace("_", "\n").replace(".", ".\n") if terminal else header.replace("_", " ")
        table.add_column(title, justify="left" if header in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(cell if terminal else cell.replace("\n", ", ") for cell in row))
    console.print(table)
