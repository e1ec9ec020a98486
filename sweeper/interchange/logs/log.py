"""From a log file to loss curves, with an account of every line that is not on them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

from sweeper.interchange.logs.base import Ignored, Line, LogOptions, Table
from sweeper.interchange.logs.chart import runs_of
from sweeper.interchange.logs.column_names import CurveColumns, find_name, may_be_time, other_losses
from sweeper.interchange.logs.recognition import FORMATS, recognize
from sweeper.interchange.logs.refusals import (
    explain_columns,
    explain_no_curve,
    explain_no_names,
    explain_numbers,
    explain_two_runs,
    explain_unclear,
)
from sweeper.interchange.logs.rows import Reading, Row, rows_of
from sweeper.interchange.logs.sessions import Ordered, TwoRunsError, in_order, split_sessions
from sweeper.interchange.logs.text import read_lines
from sweeper.interchange.logs.timing import UnclearTimesError, accumulate, as_seconds
from sweeper.interchange.numbers import whole_numbers
from sweeper.ranking.curve import LossPoint


@dataclass(frozen=True)
class LossLog:
    """A curve read from a file.

    `run` names it within its file, where that holds several; `recorded` are the parameters that the file gives it.
    `seconds` are those of the points, exactly, empty where the file has none; `summed` tells whether they were given
    for each step and so begin at zero. `counts` is what its steps count: steps, epochs or points. `ignored` are the
    lines that became no point, `left_out` those that others stand for; `notes` tell, in a sentence each, what of the
    file was taken otherwise than written.
    """

    path: Path
    format: str
    points: tuple[LossPoint, ...]
    seconds: tuple[Decimal, ...] = ()
    summed: bool = False
    counts: str = "steps"
    run: str = ""
    recorded: Mapping[str, object] = field(default_factory=dict)
    ignored: tuple[Ignored, ...] = ()
    left_out: tuple[Ignored, ...] = ()
    blank_lines: int = 0
    comment_lines: int = 0
    notes: tuple[str, ...] = ()

    @property
    def lost(self) -> tuple[Ignored, ...]:
        """The lines that seem to have been points, and could not be read."""
        return tuple(item for item in self.ignored if item.lost)

    @property
    def name(self) -> str:
        """The run's name, or the file's."""
        return self.run or self.path.name


def read_logs(path: Path, format_name: str | None = None, options: LogOptions | None = None) -> list[LossLog]:
    """The curves in a text file, one of `FORMATS`; the format is recognised from the content where not given.

    Blank lines and lines that begin with `#` are passed over. Several curves come from a chart or a table of several
    runs, and from a file whose sessions are to be split. Steps are the file's where all points have one and they rise,
    else its epochs, else numbers from 1; images the file's, else None. Seconds rise; where they begin is decided for a
    whole import (`sweeper.interchange.logs.time_origin`); without any they are NaN.

    Raises:
        LogFormatError: a file that cannot be read, that holds no point, or that may mean two things.
    """
    options = options or LogOptions()
    written = read_lines(path)
    lines = [line for line in written if line.text.strip() and not _is_comment(line)]
    if format_name in (None, "csv"):
        lines = _with_commented_header(written, lines)
    reader = FORMATS[format_name] if format_name else recognize(lines, options)
    if reader is not None and reader.name == "columns" and options.keys.given:
        raise explain_no_names(path)
    table = reader.read(lines, options.keys) if reader else Table(())
    runs = runs_of(table, options.keys)
    if reader is None or runs is None:
        reading = rows_of(table, options)
        if reader is None or not reading.rows:
            raise explain_no_curve(path, lines, reader, reading, options.keys)
        return _curves(_empty(path, reader.name, written), reading, options)
    found: list[LossLog] = []
    for run in runs:
        base = replace(_empty(path, reader.name, written), run=run.run, recorded=run.parameters)
        reading = rows_of(run.table, options)
        if reading.rows:
            found += _curves(base, reading, options)
    if not found:
        raise explain_no_curve(path, lines, reader, rows_of(table, options), options.keys)
    return found


def _with_commented_header(written: Sequence[Line], lines: list[Line]) -> list[Line]:
    """The lines, and the names that a comment gives to their columns, as numpy writes them: `# step loss`."""
    first = lines[0] if lines else None
    above = written[first.number - 2] if first is not None and first.number > 1 else None
    if first is None or above is None or not _is_comment(above):
        return lines
    names = above.text.lstrip().removeprefix("#").strip()
    for separator in (",", ";", "\t", None):
        fields, values = names.split(separator), first.text.split(separator)
        if 1 < len(fields) == len(values) and find_name("loss", map(str.strip, fields)) is not None:
            return [Line(above.number, names), *lines]
    return lines


def _empty(path: Path, format_name: str, written: Sequence[Line]) -> LossLog:
    """A log whose points are still to come."""
    blank = sum(not line.text.strip() for line in written)
    return LossLog(path, format_name, (), blank_lines=blank, comment_lines=sum(map(_is_comment, written)))


def _is_comment(line: Line) -> bool:
    return line.text.lstrip().startswith("#")


def _curves(base: LossLog, reading: Reading, options: LogOptions) -> list[LossLog]:
    """The curve of some rows, or one of each session where these are to be split."""
    columns = reading.columns
    if columns is None or reading.style is None:
        raise explain_numbers(base.path, reading.evidence)
    explain_columns(base.path, reading, options.keys)
    try:
        timed = as_seconds(reading.rows, columns.seconds or "", options)
        sessions = split_sessions(timed.rows) if options.sessions == "split" else [timed.rows]
        found = []
        for number, rows in enumerate(sessions, start=1):
            ordered = in_order(rows, join=options.sessions == "join")
            ordered.notes[:0] = timed.notes
            run = base.run if len(sessions) == 1 else f"{base.run or base.path.name} ({number})"
            ignored = tuple(sorted((*reading.ignored, *timed.left_out), key=lambda item: item.line.number))
            found.append(_curve(replace(base, run=run, ignored=ignored), ordered, columns, reading, options))
    except TwoRunsError as error:
        raise explain_two_runs(base.path, base.run, str(error)) from None
    except UnclearTimesError as error:
        raise explain_unclear(base.path, base.run, str(error), error.remedy) from None
    return found


def _curve(base: LossLog, ordered: Ordered, columns: CurveColumns, reading: Reading, options: LogOptions) -> LossLog:
    seconds, summed = list[Decimal](), False
    if columns.seconds is not None:
        seconds, summed = accumulate(ordered, columns.seconds, replace(reading, ignored=base.ignored), options)
    points, notes = curve_points(ordered.rows, list(map(float, seconds)) or None, ordered.positions)
    whole = [point.step for point in points] == ordered.positions
    if columns.step is None and columns.epoch is not None and whole:
        from_zero = ", which count from 0: over steps the first one has no extent" if points[0].step == 0 else ""
        notes.append(f"its steps are its {columns.epoch!r}{from_zero}")
    elif columns.step is None and columns.epoch is None and not seconds:
        notes.append("it has no steps: its points are numbered from 1")
    if base.format == "columns":
        notes.append("its two columns are taken to be seconds and loss")
    if len(points) == 1:
        notes.append("it has one point only: its area is that loss times its position")
    if reading.style is not None and reading.style.decimal == "," and options.decimal is None:
        notes.append(f"its numbers have decimal commas, such as {reading.evidence.comma}")
    others = other_losses(reading.names, columns.loss)
    if others:
        notes.append(f"its loss is {columns.loss!r}; it also has {', '.join(map(repr, others[:5]))} (--loss-key)")
    if columns.seconds is None:
        notes.append(_without_seconds(reading.names, columns, options, images=points[0].images is not None))
    if any(not item.line.ended and item.lost for item in base.ignored):
        notes.append("its last line may be cut off, and is left out; end it with a line end if it is whole")
    return replace(
        base,
        points=points,
        seconds=tuple(seconds),
        summed=summed,
        counts="steps" if columns.step else "epochs" if columns.epoch and whole else "points",
        left_out=tuple(ordered.left_out),
        notes=(*ordered.notes, *notes),
    )


def curve_points(
    rows: Sequence[Row], seconds: Sequence[float] | None, positions: Sequence[float] | None
) -> tuple[tuple[LossPoint, ...], list[str]]:
    """The points of rows, and what was taken otherwise than written, in a sentence each; NaN without `seconds`."""
    notes: list[str] = []
    steps = whole_numbers(list(positions), strictly=True) if positions is not None else None
    if steps is None:
        steps = list(range(1, len(rows) + 1))
        if any(row.step is not None or row.epoch is not None for row in rows):
            notes.append("its steps are not whole numbers that rise from point to point: numbered from 1 instead")
    written_images = [row.images for row in rows]
    images: list[int] | list[None] | None = whole_numbers(written_images, strictly=False)
    if images is None:
        images = [None] * len(rows)
        if any(count is not None for count in written_images):
            notes.append("its images are not whole numbers that rise: left out")
    points = zip(steps, images, seconds or [math.nan] * len(rows), rows, strict=True)
    return tuple(LossPoint(step, count, at, row.loss) for step, count, at, row in points), notes


def _without_seconds(names: Sequence[str], columns: CurveColumns, options: LogOptions, *, images: bool) -> str:
    """What a log without seconds is ranked over, and where they might be."""
    over = "rank it over steps or images" if images else "rank it over steps"
    unused = [name for name in names if name not in vars(columns).values() and may_be_time(name)]
    if options.without_seconds or not unused:
        return f"its seconds are not used: {over}" if options.without_seconds else f"it has no seconds: {over}"
    shown = ", ".join(map(repr, unused[:5])) + (", …" if len(unused) > 5 else "")
    return f"it has no seconds by name: {over}; choose one of {shown} with --seconds-key if it is a time"
