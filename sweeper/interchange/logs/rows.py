"""From what the lines of a log say by name to rows: a loss each, with its time, step and images."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from sweeper.interchange.logs.base import Entry, Ignored, Keys, Line, LogOptions, Table
from sweeper.interchange.logs.column_names import (
    CurveColumns,
    find_curve_columns,
    find_phase,
    is_evaluation_row,
    is_of_evaluation,
    may_be_loss,
    plain,
)
from sweeper.interchange.logs.times import Moment, parse_time
from sweeper.interchange.numbers import (
    PLAIN,
    NumberStyle,
    StyleEvidence,
    parse_number,
    parse_optional,
    style_evidence,
)

T = TypeVar("T")
STEPS_OF_EPOCH = "steps of the epoch"  # the name under which readers put the second number of `[50/5005]`
_FEW = 8  # numbers that may have as many digits as each other by chance
_LETTERS = " /µμabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"  # of units


@dataclass(frozen=True)
class Row:
    """A line's values; `step`, `epoch` and `images` as written, NaN where they are not numbers, None where not given.

    `time` is None in a log without times; `part` counts the headers above the line; `of` is how many steps an epoch
    has, where the line says so.
    """

    line: Line
    loss: float
    time: Moment | None = None
    step: float | None = None
    epoch: float | None = None
    images: float | None = None
    part: int = 0
    of: float | None = None


@dataclass(frozen=True)
class Reading:
    """The rows of a table, the lines that became none, the names that the rows were read by, and the decimal mark.

    `columns` is None where the table has no loss. Without a style the numbers of the table contradict each other, or
    may mean two things: `evidence` tells which ones.
    """

    rows: tuple[Row, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    names: tuple[str, ...] = ()
    columns: CurveColumns | None = None
    style: NumberStyle | None = PLAIN
    evidence: StyleEvidence = field(default_factory=StyleEvidence)


def rows_of(table: Table, options: LogOptions) -> Reading:
    """The rows in a table.

    The first line that has loss and seconds, else the first that has a loss, settles their names for all: a later
    line with the loss of something else, such as an evaluation, does not belong to the same curve.
    """
    columns = _columns(table, options)
    if columns is None:
        reasons = (Ignored(one.line, one.reason or "has no loss", one.lost) for one in table.entries)
        return Reading(ignored=tuple(reasons), names=table.names)
    evidence = style_evidence(_numbers(table.entries, columns))
    style = NumberStyle(options.decimal) if options.decimal else evidence.style
    if style is None:
        return Reading((), (), table.names, columns, None, evidence)
    reader = _RowReader(table, columns, style)
    rows: list[Row] = []
    ignored: list[Ignored] = []
    for entry in table.entries:
        row = reader.row(entry)
        if isinstance(row, Row):
            rows.append(row)
        else:
            ignored.append(row)
    return Reading(tuple(rows), tuple(ignored), table.names, columns, style, evidence)


def _columns(table: Table, options: LogOptions) -> CurveColumns | None:
    """The names of the roles, by the first line that has most of them, with what other lines have beside."""
    keys, without = options.keys, options.without_seconds
    first: CurveColumns | None = None
    for names in dict.fromkeys(tuple(_filled(entry.values)) for entry in table.entries if entry.values):
        found = find_curve_columns(names, keys)
        if found and found.seconds:
            first = found
            break
        first = first or found
    if first is None or (keys.seconds is not None and first.seconds is None and not without):
        return None
    whole = _completed(first, table, keys)
    return replace(whole, seconds=None) if without else whole


def _filled(values: Mapping[str, object]) -> Iterator[str]:
    return (name for name, value in values.items() if value not in ("", None))


def _completed(columns: CurveColumns, table: Table, keys: Keys) -> CurveColumns:
    """The same loss and seconds, with what counts steps and images in any line that has these."""
    needed = {columns.loss, columns.seconds} - {None}
    own = (entry.values for entry in table.entries if entry.values and needed <= entry.values.keys())
    names = dict.fromkeys(name for values in own for name in values)
    whole = find_curve_columns(names, Keys(columns.loss, columns.seconds, keys.step, keys.images))
    if whole is None:
        return columns
    return CurveColumns(columns.loss, columns.seconds, whole.step, whole.epoch, whole.images)


def _numbers(entries: Sequence[Entry], columns: CurveColumns) -> Iterator[str]:
    roles = (columns.loss, columns.seconds, columns.step, columns.epoch, columns.images)
    for entry in entries:
        for name in roles:
            value = (entry.values or {}).get(name or "")
            if isinstance(value, str):
                yield value.rstrip(_LETTERS) if name == columns.seconds else value


class _RowReader:
    """Makes rows of the entries of one table."""

    def __init__(self, table: Table, columns: CurveColumns, style: NumberStyle) -> None:
        self._entries, self._columns, self._style = table.entries, columns, style
        self._phase = find_phase(table.names, [entry.values for entry in table.entries if entry.values])
        self._roles = {name for name in vars(columns).values() if name is not None}
        rows = [entry.values for entry in table.entries if entry.values and columns.loss in entry.values]
        self._width = max(map(len, rows), default=0)
        self._step = columns.step or columns.epoch
        placed = sum(_is_finite(values.get(self._step), style) for values in rows if self._step)
        self._placed = self._step is not None and 2 * placed >= len(rows)

    def row(self, entry: Entry) -> Row | Ignored:
        """The row of an entry, or why it has none."""
        values, loss = entry.values, self._columns.loss
        if values is None:
            return Ignored(entry.line, entry.reason, entry.lost)
        if self._phase is not None and is_evaluation_row(self._phase, values.get(self._phase)):
            return Ignored(entry.line, f"is of validation or test by its {self._phase!r}")
        if loss not in values:
            return Ignored(entry.line, f"has no {loss!r}", lost=self._seems_whole(values))
        if values[loss] in ("", None):
            return Ignored(entry.line, f"{loss} is empty")
        cut = next((name for name in self._roles if self._is_cut(name, entry)), None)
        if cut is not None:
            end = "" if entry.line.ended else ": the file ends without a line end"
            return Ignored(entry.line, f"may be cut off in the middle of {cut!r}{end}", lost=True)
        if self._placed and self._step and not _is_finite(values.get(self._step), self._style):
            lost = self._step in values or len(values) >= min(self._width, 3)
            return Ignored(entry.line, f"has no {self._step!r} as the others have", lost)
        try:
            return self._parsed(entry.line, values, entry.part)
        except ValueError as error:
            return Ignored(entry.line, str(error), lost=True)

    def _seems_whole(self, values: Mapping[str, object]) -> bool:
        """Whether a line without a loss has all else of a row, and no loss or measure of another kind."""
        needed = (self._columns.step or self._columns.epoch, self._columns.seconds)
        known = [name for name in needed if name is not None]
        others = any(is_of_evaluation(plain(name)) or may_be_loss(name) for name in values)
        return bool(known) and values.keys() >= {*known} and not others

    def _is_cut(self, name: str, entry: Entry) -> bool:
        """Whether a value stands at the very end of what is left of a line, and may be shorter than it was."""
        value = (entry.values or {}).get(name)
        if entry.cut != name or not isinstance(value, str) or value.isalpha():
            return False
        others = [
            str(one.values[name]) for one in self._entries if one.values and name in one.values and one is not entry
        ]
        digits = {_digits(other) for other in others}
        return len(others) < _FEW or digits != {_digits(value)} or _digits(value) < 1

    def _parsed(self, line: Line, values: Mapping[str, object], part: int) -> Row:
        columns, style = self._columns, self._style
        time = None
        if columns.seconds is not None:
            if columns.seconds not in values:
                raise ValueError(f"has no {columns.seconds!r}")
            time = _named(columns.seconds, lambda: parse_time(values[columns.seconds or ""], style))
        loss = _named(columns.loss, lambda: parse_number(values[columns.loss], style))
        step, epoch, images = (
            parse_optional(_count_of(values.get(name)), style) if name else None
            for name in (columns.step, columns.epoch, columns.images)
        )
        return Row(line, loss, time, step, epoch, images, part, parse_optional(values.get(STEPS_OF_EPOCH), style))


def _count_of(value: object) -> object:
    """The first number of a count such as `100/1000`."""
    return re.sub(r"\s*/\s*\d+$", "", value) if isinstance(value, str) else value


def _is_finite(value: object, style: NumberStyle) -> bool:
    number = parse_optional(_count_of(value), style)
    return number is not None and math.isfinite(number)


def _digits(text: str) -> int:
    """Digits behind the mark; -1 in numbers with an exponent, which may go on with another digit."""
    if "e" in text.lower():
        return -1
    return len(text) - max(text.rfind("."), text.rfind(",")) - 1 if set(".,") & {*text} else 0


def _named(name: str, parse: Callable[[], T]) -> T:
    try:
        return parse()
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None


def finite_or_none(value: float | None) -> float | None:
    """A position that can be counted on."""
    return value if value is not None and math.isfinite(value) else None
