"""Figures as files: their formats and names, written whole or not at all."""

from __future__ import annotations

import io
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeper.errors import FigureError

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


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure in the format that the path's suffix names, in place of what is there; folders are created.

    Raises:
        FigureError: a suffix that is no format, or a place that cannot be written.
    """
    content = render(figure, format_of(path))
    partial = path.parent / f".figure-{secrets.token_hex(8)}.partial"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            partial.write_bytes(content)
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise FigureError(f"{path}: cannot be written ({error.strerror})", "name another file with -o") from None


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


def default_path(sweep_name: str, sweep_id: str, kind: str) -> Path:
    """`NAME-KIND.png` in the working folder, with what a file's name had better not hold replaced by dashes."""
    safe = "".join(character if character.isalnum() or character in "-_." else "-" for character in sweep_name)
    words = "-".join(word for word in safe.split("-") if word.strip(".")).strip(".")
    short = words.encode()[:_NAME_BYTES].decode(errors="ignore") or sweep_id
    return Path(f"{short}-{kind}.png")
