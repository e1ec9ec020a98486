"""How commands print numbers and tables."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from rich.console import Console
from rich.table import Table

_PIPED_WIDTH = 1000
# Beyond these an exponent is easier to read than the zeros.
_SMALLEST, _LARGEST = 1e-9, 1e12
_SMALLEST_MEASURE = 1e-4


def measure(value: float | None) -> str:
    """A measured number with five significant digits, an exponent below 0.0001; "-" where there is none."""
    if value is None or isinstance(value, int):
        return "-" if value is None else str(value)
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if not _SMALLEST_MEASURE <= abs(value) < _LARGEST:
        return f"{value:.4e}"
    return f"{value:.{max(0, 4 - math.floor(math.log10(abs(value))))}f}"


def dollars(value: float | None) -> str:
    """A sum of money in cents, with five significant digits where it is less than a dollar."""
    if value is None:
        return "-"
    return f"${value:.2f}" if value == 0 or value >= 1 else f"${measure(value)}"


def parameter(value: Any) -> str:
    """A parameter as its owner would write it: 0.1, 0.00001, adam; "-" where there is none."""
    if isinstance(value, float) and (value == 0 or _SMALLEST <= abs(value) < _LARGEST):
        return format(Decimal(f"{value:.10g}"), "f")
    return "-" if value is None else str(value)


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
