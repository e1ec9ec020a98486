"""From what the lines of a log say by name to rows: a loss each, with its time, step and images."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from sweeper.interchange.logs.base import Entry, Ignored, Keys, Line, LogOptions, Table
from sweeper.interchange.logs.column_names import CurveColumns, find_curve_columns, find_phase, is_of_evaluation
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
_LETTERS = " /µμabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"  # of units


@dataclass(frozen=True)
class Row:
    """What one line says; `step`, `epoch` and `images` as written, NaN where they are no number, None where not given.

    `time` is None in a log without times; `part` counts the headers above the line.
    """

    line: Line
    loss: float
    time: Moment | None = None
    step: float | None = None
    epoch: float | None = None
    images: float | None = None
    part: int = 0


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
    line with the loss of something else, such as an evaluation, is no point of the same curve.
    """
    columns = _columns(table, options)
    if columns is None:
        reasons = (Ignored(one.line, one.reason or "has no loss", one.lost) for one in table.entries)
        return Reading(ignored=tuple(reasons), names=table.names)
    evidence = style_evidence(_numbers(table.entries, columns))
    style = NumberStyle(options.decimal) if options.decimal else evidence.style
    if style is None:
        return Reading((), (), table.names, columns, None, evidence)
    phase = find_phase(table.names)
    rows: list[Row] = []
    ignored: list[Ignored] = []
    widths = _Widths(table.entries)
    for entry in table.entries:
        row = _row(entry, columns, style, phase, widths)
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
        found = find_curve_columns(names, keys, without_seconds=without)
        if found and (found.seconds or without):
            return _completed(found, table.names, keys)
        first = first or found
    if first is None or (keys.seconds is not None and not without):
        return None
    return _completed(first, table.names, keys)


def _filled(values: Mapping[str, object]) -> Iterator[str]:
    return (name for name, value in values.items() if value not in ("", None))


def _completed(columns: CurveColumns, names: Iterable[str], keys: Keys) -> CurveColumns:
    whole = find_curve_columns([*names], Keys(columns.loss, columns.seconds, keys.step, keys.images))
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


class _Widths:
    """How many digits stand behind the decimal mark in the values of a name, where that is always the same."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries

    def is_whole(self, name: str, text: str) -> bool:
        """Whether a value at the very end of a file is as long as all others of its name; NaN is whole, too."""
        others = [one.values[name] for one in self._entries if one.values and name in one.values and one.cut != name]
        digits = {_digits(str(other)) for other in others}
        return text.isalpha() or (len(others) > 1 and digits == {_digits(text)} and _digits(text) > 0)


def _digits(text: str) -> int:
    """Digits behind the mark; -1 in numbers with an exponent, which may go on with another digit."""
    return (
        -1
        if "e" in text.lower()
        else len(text) - max(text.rfind("."), text.rfind(",")) - 1
        if set(".,") & {*text}
        else 0
    )


def _row(entry: Entry, columns: CurveColumns, style: NumberStyle, phase: str | None, widths: _Widths) -> Row | Ignored:
    if entry.values is None:
        return Ignored(entry.line, entry.reason, entry.lost)
    if phase is not None and is_of_evaluation(str(entry.values.get(phase, ""))):
        return Ignored(entry.line, f"is of {entry.values[phase]}")
    if columns.loss not in entry.values:
        return Ignored(entry.line, f"has no {columns.loss!r}")
    if entry.values[columns.loss] in ("", None):
        return Ignored(entry.line, f"{columns.loss} is empty")
    cut = entry.cut
    if cut is not None and cut in vars(columns).values() and not widths.is_whole(cut, str(entry.values[cut])):
        return Ignored(
            entry.line, f"may be cut off in the middle of {cut!r}: the file ends without a line end", lost=True
        )
    try:
        return _parsed(entry, columns, style)
    except ValueError as error:
        return Ignored(entry.line, str(error), lost=True)


def _parsed(entry: Entry, columns: CurveColumns, style: NumberStyle) -> Row:
    values = entry.values or {}
    if columns.seconds is not None and columns.seconds not in values:
        raise ValueError(f"has no {columns.seconds!r}")

    def optional(name: str | None) -> float | None:
        return parse_optional(values.get(name), style) if name else None

    loss = _named(columns.loss, lambda: parse_number(values[columns.loss], style))
    time = (
        _named(columns.seconds, lambda: parse_time(values[columns.seconds or ""], style)) if columns.seconds else None
    )
    return Row(
        entry.line, loss, time, optional(columns.step), optional(columns.epoch), optional(columns.images), entry.part
    )


def _named(name: str, parse: Callable[[], T]) -> T:
    try:
        return parse()
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None


def finite_or_none(value: float | None) -> float | None:
    """A position that can be counted on."""
    return value if value is not None and math.isfinite(value) else None
