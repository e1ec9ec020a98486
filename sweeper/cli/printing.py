"""How commands print tables."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from sweeper.text_table import fit_table


def measures_of(trials: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of what was measured of trials, for a table of them; accuracy only where any of them has one."""
    evaluated = any(trial["accuracy"] is not None for trial in trials)
    return ["area", "minimum_loss", "seconds", "images", *(["accuracy"] if evaluated else [])]


def print_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: Sequence[str] = (),
    words: Sequence[str] = (),
    spare: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> None:
    """A table on standard output, numbers to the right and the columns named in `left` to the left.

    In a terminal it is fitted to the width, headers are stacked, and cells may have several lines; if it is too narrow
    for all columns, some are left out, those named in `spare` first and those in `keep` last, and a line says which. In
    a pipe each row has a line. Columns named in `words` are shortened to 60 cells, in a narrow terminal to 12.
    """
    console = Console(markup=False, emoji=False, highlight=False, soft_wrap=True)
    width = console.width if sys.stdout.isatty() else None
    table = fit_table(headers, rows, width, left=left, words=words, spare=spare, keep=keep)
    for line in table.header:
        console.print(Text(line, style="bold"))
    for line in table.lines:
        console.print(Text(line))
    if table.left_out:
        names = ", ".join(name.replace("_", " ") for name in table.left_out)
        console.print(Text(f"Left out: {names}. --json, or a wider terminal, shows all.", style="dim"), soft_wrap=False)


def markdown_lines(headers: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str] = ()) -> list[str]:
    """A table in Markdown, numbers to the right and the columns named in `left` to the left."""
    marks = ["---" if name in left else "---:" for name in headers]
    return ["| " + " | ".join(cells) + " |" for cells in (headers, marks, *rows)]
