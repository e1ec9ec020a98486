"""Tables of text that fit a width: first words are shortened, then columns are left out; no number is cut or folded.

Widths are in cells of a terminal: a Chinese character or an emoji takes two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from textwrap import wrap

from rich.cells import cell_len, set_cell_size

LONGEST_WORDS, SHORTEST_WORDS = 60, 12
_GAP, _NARROW_GAP = 2, 1


@dataclass(frozen=True)
class TextTable:
    """A table fitted to a width: the lines of its header, those of its rows, and the columns that are not in it."""

    header: list[str]
    lines: list[str]
    left_out: list[str]


@dataclass(frozen=True)
class _Column:
    name: str
    cells: Sequence[str]
    left: bool
    is_words: bool
    is_flat: bool

    def part(self, line: str, words: int) -> str:
        """What is shown of a line of a cell if words may have so many cells."""
        return shorten(line, words) if self.is_words else line

    def width(self, words: int) -> int:
        """The cells that the column takes."""
        return max(*map(cell_len, self.title), self._widest[False], min(words, self._widest[True]))

    @cached_property
    def title(self) -> list[str]:
        """The lines of the header, each as short as a word, or the cells, allow."""
        text = self.name.replace("_", " ")
        if self.is_flat:
            return [text]
        width = max(*self._widest.values(), *map(len, text.split()))
        return [line for part in wrap(text, width) for line in part.replace(".", ".\n").split("\n")]

    @cached_property
    def _widest(self) -> dict[bool, int]:
        """The widest line of all cells, of words that may be shortened (True) and of all else."""
        widest = {False: 0, True: 0}
        for cell in self.cells:
            for line in cell.split("\n"):
                may_be_shortened = self.is_words and not _is_number(line)
                widest[may_be_shortened] = max(widest[may_be_shortened], cell_len(line))
        return widest


def fit_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None,
    *,
    left: Sequence[str] = (),
    words: Sequence[str] = (),
    spare: Sequence[str] = (),
    keep: Sequence[str] = (),
    lengths: tuple[int, int] = (SHORTEST_WORDS, LONGEST_WORDS),
) -> TextTable:
    """Columns of these headers, numbers to the right and those named in `left` to the left.

    Those named in `words` are shortened: to the second of `lengths` always, to the first before a column is left out.

    Where `width` cells are too few for all, the columns named in `spare` go first, in this order, then what all rows
    have the same, then others from the right, those named in `keep` last; two always stay. Without a width headers and
    rows take a line each.
    """
    is_flat = width is None
    columns = [
        _Column(
            name,
            [row[i].replace("\n", ", ") if is_flat else row[i] for row in rows],
            name in left,
            name in words,
            is_flat,
        )
        for i, name in enumerate(headers)
    ]
    left_out: list[str] = []
    (shortest, longest), gap = lengths, _GAP
    if width is not None:
        going = _going(columns, spare, keep)
        while (fitting := _fitting(columns, width, lengths)) is None and len(columns) > 2:
            name = next(going)
            columns = [column for column in columns if column.name != name]
            left_out.append(name)
        longest, gap = fitting or (shortest, _NARROW_GAP)
    widths = [column.width(longest) for column in columns]
    header = _lines([column.title for column in columns], columns, widths, gap)
    lines: list[str] = []
    for number in range(len(rows)):
        cells = [[column.part(line, longest) for line in column.cells[number].split("\n")] for column in columns]
        lines += _lines(cells, columns, widths, gap)
    return TextTable(header, lines, [name for name in headers if name in left_out])


def shorten(text: str, width: int) -> str:
    """Words that fit a width, with an ellipsis for what is cut off; a number stays whole."""
    if cell_len(text) <= width or _is_number(text):
        return text
    return f"{set_cell_size(text, max(0, width - 1)).rstrip()}…"


def _fitting(columns: Sequence[_Column], width: int, lengths: tuple[int, int]) -> tuple[int, int] | None:
    """How long words may be, and how wide gaps, for the columns to fit; None if they cannot."""
    shortest, longest = lengths
    for gap in (_GAP, _NARROW_GAP):
        fitting = [words for words in range(longest, shortest - 1, -1) if _total(columns, words, gap) <= width]
        if fitting:
            return fitting[0], gap
    return None


def _total(columns: Sequence[_Column], words: int, gap: int) -> int:
    return sum(column.width(words) for column in columns) + gap * (len(columns) - 1)


def _going(columns: Sequence[_Column], spare: Sequence[str], keep: Sequence[str]) -> Iterator[str]:
    """The columns in the order in which they are left out."""
    there = [column.name for column in columns]
    varies = {column.name for column in columns if len(set(column.cells)) > 1 or len(column.cells) == 1}
    same = [name for name in there if name not in varies and name not in keep]
    rest = [name for name in reversed(there) if name not in keep]
    return iter(dict.fromkeys([*(name for name in spare if name in there), *same, *rest, *reversed(there)]))


def _lines(cells: Sequence[Sequence[str]], columns: Sequence[_Column], widths: Sequence[int], gap: int) -> list[str]:
    """A row of the table, as many lines as its highest cell has."""
    return [
        (" " * gap)
        .join(_padded(part, size, column) for part, size, column in zip(parts, widths, columns, strict=True))
        .rstrip()
        for parts in zip_longest(*cells, fillvalue="")
    ]


def _padded(text: str, width: int, column: _Column) -> str:
    space = " " * (width - cell_len(text))
    return f"{text}{space}" if column.left else f"{space}{text}"


def _is_number(text: str) -> bool:
    """Whether a line of a cell is one number, perhaps a bound, a part or a price."""
    try:
        float(text.strip("≥$% "))
    except ValueError:
        return False
    return True
