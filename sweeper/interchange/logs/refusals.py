"""The errors for files without a loss curve, and for files that can be read in two ways."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from sweeper.errors import LogFormatError
from sweeper.interchange.logs.base import Keys, Line, LogReader
from sweeper.interchange.logs.column_names import USUAL_NAMES, find_name, is_of_evaluation, may_be_loss
from sweeper.interchange.logs.recognition import READERS
from sweeper.interchange.logs.rows import Reading
from sweeper.interchange.numbers import StyleEvidence, shorten

_SHOWN_NAMES = 20


def explain_no_curve(
    path: Path, lines: Sequence[Line], reader: LogReader | None, reading: Reading, keys: Keys
) -> LogFormatError:
    """The error for a file without a point: what was expected, what is there, what to do."""
    if not lines:
        return LogFormatError(f"{path}: holds no data, only blank lines and comments", "give a log with a loss curve")
    if reader is None:
        layouts = "; ".join(f"{reader.name}: {reader.layout}" for reader in READERS)
        return LogFormatError(
            f"{path}: is not a loss log; line {lines[0].number} is {shorten(lines[0].text.strip())}",
            f"write it in one of these formats, and name it with --format: {layouts}",
        )
    if reading.style is None:
        return explain_numbers(path, reading.evidence)
    missing = _missing(reading, keys)
    if reading.names and missing:
        return _explain_missing(path, reader, reading.names, missing, keys)
    reasons = (f"line {i.line.number}: {i.reason}: {shorten(i.line.text.strip())}" for i in reading.ignored)
    return LogFormatError(
        f"{path}: no line holds a point in the format {reader.name}; {next(reasons, 'nothing is below the header')}",
        f"expected {reader.layout}; correct the file, or choose another --format",
    )


def _missing(reading: Reading, keys: Keys) -> list[str]:
    """The roles that have no name: the loss, and those that were chosen."""
    wanted = [role for role in ("seconds", "step", "images") if getattr(keys, role) is not None]
    return [role for role in ("loss", *wanted) if find_name(role, reading.names, getattr(keys, role)) is None]


def explain_columns(path: Path, reading: Reading, keys: Keys) -> None:
    """Raises:
    LogFormatError: a chosen name that the log does not have.
    """
    wanted = [role for role in ("step", "images") if getattr(keys, role) is not None]
    missing = [role for role in wanted if find_name(role, reading.names, getattr(keys, role)) is None]
    if missing:
        raise _explain_missing(path, None, reading.names, missing, keys)


def explain_no_names(path: Path) -> LogFormatError:
    """The error for a chosen key and a file of two columns."""
    return LogFormatError(
        f"{path}: has two columns without names, so no key can be chosen",
        "leave out --loss-key, --seconds-key, --step-key and --images-key",
    )


def explain_numbers(path: Path, evidence: StyleEvidence) -> LogFormatError:
    """The error for numbers whose decimal mark is not clear."""
    if evidence.point and evidence.comma:
        message = f"{path}: has decimal points ({evidence.point}) and decimal commas ({evidence.comma})"
        return LogFormatError(message, "choose one with --decimal . or --decimal , and lines of the other are left out")
    return LogFormatError(
        f"{path}: {evidence.open} may have a decimal comma, or a comma between thousands",
        "say which with --decimal , or --decimal .",
    )


def explain_two_runs(path: Path, run: str, why: str) -> LogFormatError:
    """The error for a file that may hold several runs."""
    where = f"{path}: run {run}" if run else str(path)
    return LogFormatError(
        f"{where} may hold several runs: {why}",
        "import them as trials of their own with --sessions split, or as one run that was resumed with --sessions join",
    )


def explain_unclear(path: Path, run: str, why: str, remedy: str) -> LogFormatError:
    """The error for times that may mean two things."""
    return LogFormatError(f"{path}: {f'run {run}: ' if run else ''}{why}", remedy)


def _explain_missing(
    path: Path, reader: LogReader | None, names: Sequence[str], missing: Sequence[str], keys: Keys
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
    read_as = f"read as {reader.name}, it" if reader else "it"
    return LogFormatError(
        f"{path}: {read_as} has no column or key {' and '.join(wanted)}; it has {shown}",
        f"choose among these with {' '.join(remedies)}",
    )


def _nearest(role: str, chosen: str | None, names: Sequence[str]) -> str | None:
    """The name most like a wanted one, or one that has it as a part; of losses none of evaluation or of extremes."""
    fitting = [name for name in names if (may_be_loss(name) if role == "loss" else not is_of_evaluation(name))]
    by_case = {name.casefold(): name for name in reversed(names if chosen is not None else fitting)}
    for word in (chosen,) if chosen is not None else USUAL_NAMES[role]:
        parts = [name for name in by_case if word.casefold() in name]
        near = difflib.get_close_matches(word.casefold(), by_case, n=1) or parts
        if near:
            return by_case[near[0]]
    return by_case[next(iter(by_case))] if role == "loss" and len(by_case) == 1 else None
