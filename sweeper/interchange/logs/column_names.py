"""Which of a log's columns or keys hold the seconds, the loss, the step and the images."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sweeper.interchange.logs.base import Ignored, Keys, Line, Reading, Row
from sweeper.interchange.numbers import parse_number, parse_optional, parse_seconds

# Usual names in the order of preference, as `_plain` writes them.
USUAL_NAMES: dict[str, tuple[str, ...]] = {
    "seconds": (
        *("seconds", "elapsed_seconds", "elapsed", "elapsed_time", "time", "time_s", "time_seconds", "sec", "secs"),
        *("timestamp", "wall_time", "walltime", "runtime", "relative_time"),
    ),
    "loss": ("loss", "train_loss", "training_loss"),
    "step": ("step", "steps", "global_step", "iteration", "iterations", "iter"),
    "images": ("images", "images_seen", "samples", "samples_seen", "examples", "examples_seen"),
}


@dataclass(frozen=True)
class CurveColumns:
    """The names of one log that hold what a row needs; None for what it does not have."""

    seconds: str
    loss: str
    step: str | None
    images: str | None

    def row(self, line: Line, entry: Mapping[str, object]) -> Row:
        """The row in one line's values by name.

        Raises:
            ValueError: a name is missing, or its value is no number.
        """
        for name in (self.seconds, self.loss):
            if name not in entry:
                raise ValueError(f"has no {name!r}")
        return Row(
            line=line,
            seconds=_parse(parse_seconds, self.seconds, entry),
            loss=_parse(parse_number, self.loss, entry),
            step=parse_optional(entry.get(self.step)) if self.step else None,
            images=parse_optional(entry.get(self.images)) if self.images else None,
        )


def find_name(role: str, names: Iterable[str], chosen: str | None = None) -> str | None:
    """The name for a role: the chosen one, else the most usual; case, blanks, dots and dashes do not matter."""
    known = list(names)
    if chosen in known:
        return chosen
    plain: dict[str, str] = {}
    for name in known:
        plain.setdefault(_plain(name), name)
    wanted = USUAL_NAMES[role] if chosen is None else (_plain(chosen),)
    return next((plain[name] for name in wanted if name in plain), None)


def find_curve_columns(names: Iterable[str], keys: Keys) -> CurveColumns | None:
    """The names of the roles, or None where there is none for the seconds or the loss."""
    known = list(names)
    seconds, loss = find_name("seconds", known, keys.seconds), find_name("loss", known, keys.loss)
    if seconds is None or loss is None:
        return None
    return CurveColumns(seconds, loss, find_name("step", known), find_name("images", known))


def read_named(entries: Iterable[tuple[Line, Mapping[str, object] | str]], keys: Keys) -> Reading:
    """The rows in lines that name their values; in place of the values may stand why a line has none.

    The first line that has seconds and loss settles their names for all: a later line with the loss of something
    else, such as an evaluation, is no point of the same curve.
    """
    rows: list[Row] = []
    ignored: list[Ignored] = []
    names: dict[str, None] = {}
    columns: CurveColumns | None = None
    for line, entry in entries:
        if isinstance(entry, str):
            ignored.append(Ignored(line, entry))
            continue
        names.update(dict.fromkeys(entry))
        columns = columns or find_curve_columns(entry, keys)
        if columns is None:
            ignored.append(Ignored(line, "has no seconds and loss"))
            continue
        try:
            rows.append(columns.row(line, entry))
        except ValueError as error:
            ignored.append(Ignored(line, str(error)))
    return Reading(tuple(rows), tuple(ignored), tuple(names))


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name.casefold()).strip("_")


def _parse(parse: Callable[[object], float], name: str, entry: Mapping[str, object]) -> float:
    try:
        return parse(entry[name])
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None
