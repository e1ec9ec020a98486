"""Figures as files: their formats and names, written whole or not at all."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeper.errors import FigureError
from sweeper.output_file import OutputPlace, write_output
from sweeper.streams import ReaderGoneError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What each format says of itself: without the date, the same figure gives the same bytes.
FORMATS: dict[str, dict[str, Any]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
_NAME_BYTES = 120  # of a sweep's name in a file's name; file systems stop at 255


def render(figure: Figure, file_format: str) -> bytes:
    """The figure as "png", "svg" or "pdf", the same bytes for the same figure."""
    # Only now: names and formats are asked for without matplotlib as well.
    from dashboards.figures.drawing.style import drawing

    buffer = io.BytesIO()
    with drawing():
        figure.savefig(buffer, format=file_format, metadata=FORMATS[file_format])
    return buffer.getvalue()


def write_figure(figure: Figure, target: str | Path, file_format: str | None = None) -> None:
    """Write a figure, in the format that the target's suffix names if none is given; folders are created.

    A file is replaced, links are followed; `-` and devices are written straight.

    Raises:
        FigureError: a suffix that is no format, or a place that cannot be written.
        ReaderGoneError: whoever read the stream has gone.
    """
    content = render(figure, file_format or format_of(Path(target)))
    place = figure_place(target)
    try:
        write_output(place, lambda path: path.write_bytes(content))
    except ReaderGoneError:
        raise
    except OSError as error:
        raise _not_written(target, error) from None


def figure_place(target: str | Path) -> OutputPlace:
    """Where a figure goes. Raises FigureError."""
    try:
        return OutputPlace.of(target)
    except OSError as error:
        raise _not_written(target, error) from None


def _not_written(target: str | Path, error: OSError) -> FigureError:
    return FigureError(f"{target}: cannot be written ({error.strerror})", "name another file with -o")


def figure_format(target: str | None, name: str | None = None) -> str:
    """The format of this name, else the one that the target's suffix names; PNG without either.

    Raises:
        FigureError: a suffix that is no format.
    """
    if name is not None or target is None:
        return name or "png"
    if figure_place(target).is_stream and not Path(target).suffix:
        raise FigureError(f"{target}: its name says no format", f"add --format {'|'.join(FORMATS)}")
    return format_of(Path(target))


def format_of(path: Path) -> str:
    """The format that a path's suffix names.

    Raises:
        FigureError: any other suffix, or none.
    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        known = ", ".join(f".{name}" for name in FORMATS)
        raise FigureError(f"{path}: is no figure file, its name must end in one of {known}", f"use -o {path.stem}.png")
    return suffix


def default_path(sweep_name: str, sweep_id: str, kind: str, file_format: str = "png") -> Path:
    """`NAME-KIND.png` in the working folder, with what a file's name had better not hold replaced by dashes."""
    safe = "".join(character if character.isalnum() or character in "-_." else "-" for character in sweep_name)
    words = "-".join(word for word in safe.split("-") if word.strip(".")).strip(".")
    short = words.encode()[:_NAME_BYTES].decode(errors="ignore") or sweep_id
    return Path(f"{short}-{kind}.{file_format}")
