"""What to say of a file in which there is no loss curve."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from sweeper.errors import LogFormatError
from sweeper.interchange.logs.base import Keys, Line, LogReader, Reading
from sweeper.interchange.logs.column_names import USUAL_NAMES, find_name
from sweeper.interchange.logs.recognition import READERS
from sweeper.interchange.numbers import shorten

_SHOWN_NAMES = 20


def explain_no_curve(
    path: Path, lines: Sequence[Line], reader: LogReader | None, reading: Reading | None, keys: Keys
) -> LogFormatError:
    """The error for a file without a point: what was expected, what is there, what to do."""
    if not lines:
        return LogFormatError(f"{path}: holds no data, only blank lines and comments", "give a log with a loss curve")
    if reader is None or reading is None:
        layouts = "; ".join(f"{reader.name}: {reader.layout}" for reader in READERS)
        return LogFormatError(
            f"{path}: is no loss log; line {lines[0].number} is {shorten(lines[0].text.strip())}",
            f"write it in one of these formats, and name it with --format: {layouts}",
        )
    missing = [role for role in ("seconds", "loss") if find_name(role, reading.names, getattr(keys, role)) is None]
    if reading.names and missing:
        return _explain_missing(path, reader, reading.names, missing, keys)
    reasons = (f"line {i.line.number}: {i.reason}: {shorten(i.line.text.strip())}" for i in reading.ignored)
    return LogFormatError(
        f"{path}: no line holds a point in the format {reader.name}; {next(reasons, 'nothing is below the header')}",
        f"expected {reader.layout}; correct the file, or choose another --format",
    )


def explain_no_names(path: Path) -> LogFormatError:
    """The error for a chosen key and a file of two columns."""
    return LogFormatError(
        f"{path}: has two columns without names, so no key can be chosen", "leave out --loss-key and --seconds-key"
    )


def _explain_missing(
    path: Path, reader: LogReader, names: Sequence[str], missing: Sequence[str], keys: Keys
) -> LogFormatError:
    wanted: list[str] = []
    remedies: list[str] = []
    for role in missing:
        chosen: str | None = getattr(keys, role)
        usual = ", ".join(USUAL_NAMES[role][:3])
        wanted.append(f"for the {role} (such as {usual})" if chosen is None else repr(chosen))
        near = _nearest(role, chosen, names)
        remedies.append(f"--{role}-key {near!r}" if near else f"--{role}-key NAME")
    shown = ", ".join(names[:_SHOWN_NAMES]) + (", …" if len(names) > _SHOWN_NAMES else "")
    return LogFormatError(
        f"{path}: read as {reader.name}, it has no column or key {' and '.join(wanted)}; it has {shown}",
        f"choose among these with {' '.join(remedies)}",
    )


def _nearest(role: str, chosen: str | None, names: Sequence[str]) -> str | None:
    """The name most like a wanted one, or one that has it as a part."""
    wanted = (chosen,) if chosen is not None else USUAL_NAMES[role]
    by_case = {name.casefold(): name for name in reversed(names)}
    for word in wanted:
        parts = [name for name in by_case if word.casefold() in name]
        near = difflib.get_close_matches(word.casefold(), by_case, n=1) or parts
        if near:
            return by_case[near[0]]
    return None
