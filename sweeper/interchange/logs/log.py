"""From a log file to a loss curve, with an account of every line that is not on it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sweeper.errors import LogFormatError
from sweeper.interchange.logs.base import Ignored, Keys, Line, Row
from sweeper.interchange.logs.recognition import FORMATS, recognize
from sweeper.interchange.logs.refusals import explain_no_curve, explain_no_names
from sweeper.interchange.numbers import whole_numbers
from sweeper.ranking.curve import LossPoint


@dataclass(frozen=True)
class LossLog:
    """A curve read from a file.

    `ignored` are the lines that were no data, `out_of_order` the points that lie before the one above them in time
    and are not used; `notes` tell, in a sentence each, what of the file was taken otherwise than written.
    """

    path: Path
    format: str
    points: tuple[LossPoint, ...]
    ignored: tuple[Ignored, ...] = ()
    out_of_order: tuple[Ignored, ...] = ()
    blank_lines: int = 0
    comment_lines: int = 0
    notes: tuple[str, ...] = ()


def read_log(path: Path, format_name: str | None = None, keys: Keys | None = None) -> LossLog:
    """The curve in a UTF-8 text file, one of `FORMATS`; the format is recognised from the content where not given.

    Blank lines and lines that begin with `#` are passed over. Points whose seconds fall are left out. Steps are the
    file's where all points have one and they rise, else numbers from 1; images the file's, else None. Seconds are as
    written: where they begin is decided for a whole import (`sweeper.interchange.logs.time_origin`).

    Raises:
        LogFormatError: a file that cannot be read or that holds no point.
    """
    keys = keys or Keys()
    written = _read_lines(path)
    lines = [line for line in written if line.text.strip() and not _is_comment(line)]
    reader = FORMATS[format_name] if format_name else recognize(lines, keys)
    if reader is not None and reader.name == "columns" and keys.given:
        raise explain_no_names(path)
    reading = reader.read(lines, keys) if reader else None
    if reader is None or reading is None or not reading.rows:
        raise explain_no_curve(path, lines, reader, reading, keys)
    rows, out_of_order = in_order(reading.rows)
    points, notes = curve_points(rows)
    return LossLog(
        path=path,
        format=reader.name,
        points=points,
        ignored=reading.ignored,
        out_of_order=out_of_order,
        blank_lines=sum(not line.text.strip() for line in written),
        comment_lines=sum(map(_is_comment, written)),
        notes=notes,
    )


def _read_lines(path: Path) -> list[Line]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise LogFormatError(f"{path}: cannot be read ({error.strerror})", "give the path of a log file") from None
    except UnicodeDecodeError as error:
        raise LogFormatError(f"{path}: is no UTF-8 text (byte {error.start})", "save it as UTF-8") from None
    lines = text.removesuffix("\n").split("\n") if text else []
    return [Line(number, line) for number, line in enumerate(lines, start=1)]


def _is_comment(line: Line) -> bool:
    return line.text.lstrip().startswith("#")


def in_order(rows: tuple[Row, ...]) -> tuple[list[Row], tuple[Ignored, ...]]:
    """The rows whose seconds do not fall, and those that are left out, each with why."""
    used: list[Row] = []
    out_of_order: list[Ignored] = []
    for row in rows:
        if used and row.seconds < used[-1].seconds:
            before = f"{row.seconds:.10g} s comes after {used[-1].seconds:.10g} s of line {used[-1].line.number}"
            out_of_order.append(Ignored(row.line, before))
        else:
            used.append(row)
    return used, tuple(out_of_order)


def curve_points(rows: list[Row]) -> tuple[tuple[LossPoint, ...], tuple[str, ...]]:
    """The points of rows whose seconds rise, and what was taken otherwise than written, in a sentence each."""
    notes: list[str] = []
    written_steps, written_images = [row.step for row in rows], [row.images for row in rows]
    steps = whole_numbers(written_steps, strictly=True)
    if steps is None:
        steps = list(range(1, len(rows) + 1))
        if any(step is not None for step in written_steps):
            notes.append("its steps are not whole numbers that rise from point to point: numbered from 1 instead")
    images: list[int] | list[None] | None = whole_numbers(written_images, strictly=False)
    if images is None:
        images = [None] * len(rows)
        if any(count is not None for count in written_images):
            notes.append("its images are not whole numbers that rise: left out")
    points = zip(steps, images, rows, strict=True)
    return tuple(LossPoint(step, count, row.seconds, row.loss) for step, count, row in points), tuple(notes)
