"""CSV: a tidy table of loss points, and all else in lines that begin with `#`.

The first line is the head, and above the points of each trial stands what else there is of it. Programs that pass over
comments (pandas: `comment="#"`) see the table alone: trial, parameters, state, attempt, step, images, seconds, loss.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sweeper.errors import DocumentError
from sweeper.interchange.document import head_document, read_head, read_trial, trial_document
from sweeper.interchange.formats.base import IncomingSweep
from sweeper.interchange.formats.json_document import begins, parse
from sweeper.interchange.json_text import dump
from sweeper.ranking.curve import LossPoint
from sweeper.store.archived import Archive, ArchivedSweep, ArchivedTrial
from sweeper.store.records import TrialRecord

_FIRST, _LAST = ("trial",), ("state", "attempt", "step", "images", "seconds", "loss")
_BEGINNING = re.compile(r'\ufeff?# \{"sweeper":')
_COMMENT = "# "


class CsvFormat:
    """A line a loss point, of all attempts; `sweeper.interchange.document` in comments."""

    name = "csv"
    suffixes: tuple[str, ...] = (".csv",)

    def write(self, archive: Archive, path: Path) -> None:
        """The head, the table's header, then trial by trial."""
        names = parameter_columns(archive.trials)
        with path.open("w", encoding="utf-8", newline="") as file:
            # All texts in quotes: within them a # begins no comment.
            table = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
            file.write(f"{_COMMENT}{dump(head_document(archive.sweep))}\n")
            table.writerow([*_FIRST, *map(cell, names.values()), *_LAST])
            for trial in archive.read():
                file.write(f"{_COMMENT}{dump(trial_document(trial))}\n")
                table.writerows(_rows(trial, list(names)))
            file.write(f"{_COMMENT}end\n")

    def recognizes(self, path: Path) -> bool:
        """Whether it begins with a head."""
        return begins(path, _BEGINNING)

    def read(self, path: Path) -> Iterator[IncomingSweep]:
        """The sweep; of the table only trial, attempt and the points are read, the comments have the rest."""
        with path.open(encoding="utf-8-sig", newline="") as file:
            sweep = read_head(path, parse(path, file.readline().removeprefix(_COMMENT)))
            header = next(csv.reader([file.readline()]))
            yield IncomingSweep(sweep, _read_trials(path, sweep, len(header), file))


def parameter_columns(trials: Sequence[TrialRecord]) -> dict[str, str]:
    """The name of each parameter's column; one that is taken gets a dot before it."""
    names = dict.fromkeys(name for trial in trials for name in trial.parameters)
    return {name: f".{name}" if name in (*_FIRST, *_LAST) else name for name in names}


def cell(value: Any) -> Any:
    """A parameter as a cell: numbers and texts as they are, all else as JSON; on one line."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    text = value if isinstance(value, str) else "" if value is None else dump(value)
    return " ".join(text.encode(errors="replace").decode().splitlines())


def _rows(trial: ArchivedTrial, names: Sequence[str]) -> Iterator[list[Any]]:
    record = trial.record
    shared = [record.id, *(cell(record.parameters.get(name)) for name in names), record.state.value]
    for attempt in trial.attempts:
        for point in attempt.points:
            images = "" if point.images is None else point.images
            yield [*shared, attempt.record.number, point.step, images, point.seconds, point.loss]


def _read_trials(path: Path, sweep: ArchivedSweep, width: int, lines: Iterable[str]) -> Iterator[ArchivedTrial]:
    document: Any = None
    rows: list[str] = []
    for line in lines:
        if not line.startswith(_COMMENT):
            rows.append(line)
            continue
        if document is not None or rows:
            yield _trial(path, sweep, document, width, rows)
        if line.rstrip() == f"{_COMMENT}end":
            return
        document, rows = parse(path, line.removeprefix(_COMMENT)), []
    raise DocumentError(f"{path}: ends before its end", "export it again; it is cut short")


def _trial(path: Path, sweep: ArchivedSweep, document: Any, width: int, lines: Sequence[str]) -> ArchivedTrial:
    points: dict[int, list[LossPoint]] = {}
    trial = None
    for row in csv.reader(lines):
        if len(row) != width:
            raise DocumentError(f"{path}: a line has {len(row)} cells instead of {width}: {row}", "export it again")
        trial = row[0]
        attempt, step, images, seconds, loss = row[-5:]
        try:
            point = LossPoint(int(step), int(images) if images else None, float(seconds), float(loss))
            points.setdefault(int(attempt), []).append(point)
        except ValueError as error:
            raise DocumentError(f"{path}: trial {trial}: {error}", "export it again; it was changed") from None
    whole = read_trial(path, sweep, document, lambda number, _: points.pop(number, []))
    if points or trial not in (None, whole.record.id):
        raise DocumentError(
            f"{path}: below trial {whole.record.id} stand points that are not its own", "export it again"
        )
    return whole
