"""CSV: a tidy table of loss points, and beside it a file with all else, as JSON lines.

FILE.csv has a header and a row for each loss point: trial, parameters, at_chance, state, attempt, step, images,
seconds, loss. Any program reads it (`pandas.read_csv` without options). FILE.csv.meta has a head and a line for each
trial, as `sweeper.interchange.document` has them; both are needed to import the sweep again. Older exports have the
same lines within the table, each after `#`, and are still read.
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
AT_CHANCE = "at_chance"  # whether the trial never learnt; not read again, for it follows from the rest
_OLD_BEGINNING = re.compile(r'\ufeff?# \{"sweeper":')
_COMMENT = "# "
_LONGEST_HEADER = 1_000_000
_AGAIN = "export it again; the two files are not of one export"
_END = '"end"'  # the last line: what is cut short lacks it


class CsvFormat:
    """A line a loss point, of all attempts; `sweeper.interchange.document` in a file beside it."""

    name = "csv"
    suffixes: tuple[str, ...] = (".csv",)
    companion = ".meta"
    is_one_stream = True

    def write(self, archive: Archive, path: Path) -> None:
        """The table, and beside it the head and trial by trial what else there is."""
        names = parameter_columns(archive.trials)
        meta = Path(f"{path}{self.companion}")
        with path.open("w", encoding="utf-8", newline="") as file, meta.open("w", encoding="utf-8") as other:
            table = csv.writer(file, lineterminator="\n")
            other.write(f"{dump(head_document(archive.sweep))}\n")
            table.writerow([*_FIRST, *map(cell, names.values()), AT_CHANCE, *_LAST])
            for trial in archive.read():
                other.write(f"{dump(trial_document(trial))}\n")
                table.writerows(_rows(trial, list(names)))
            other.write(f"{_END}\n")

    def recognizes(self, path: Path) -> bool:
        """Whether it has the header of an export, or begins with the head of an old one."""
        return _has_our_header(path) or begins(path, _OLD_BEGINNING)

    def read(self, path: Path) -> Iterator[IncomingSweep]:
        """The sweep; of the table only trial, attempt and the points are read, the rest is beside it."""
        if begins(path, _OLD_BEGINNING):
            yield from _read_old(path)
            return
        meta = Path(f"{path.resolve()}{self.companion}")  # an export through a link has its file beside the link's end
        if not meta.is_file():
            meta = Path(f"{path}{self.companion}")
        if not meta.is_file():
            raise DocumentError(
                f"{path}: is an exported sweep, and its other file, {meta.name}, is not beside it",
                "keep the two together, or export as .parquet or .json, which are one file",
            )
        with path.open(encoding="utf-8-sig", newline="") as file, meta.open(encoding="utf-8") as other:
            sweep = read_head(meta, parse(meta, other.readline()))
            header = next(csv.reader([file.readline()]))
            yield IncomingSweep(sweep, _read_beside(path, meta, sweep, len(header), file, other))


def _has_our_header(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            names = next(csv.reader([file.readline(_LONGEST_HEADER)]), [])
    except (OSError, csv.Error):
        return False
    return tuple(names[:1]) == _FIRST and tuple(names[-len(_LAST) :]) == _LAST


def parameter_columns(trials: Sequence[TrialRecord]) -> dict[str, str]:
    """The name of each parameter's column; one that is taken gets a dot before it."""
    names = dict.fromkeys(name for trial in trials for name in trial.parameters)
    return {name: f".{name}" if name in (*_FIRST, AT_CHANCE, *_LAST) else name for name in names}


def cell(value: Any) -> Any:
    """A parameter as a cell: numbers and texts as they are, all else as JSON; on one line."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    text = value if isinstance(value, str) else "" if value is None else dump(value)
    return " ".join(text.encode(errors="replace").decode().splitlines())


def _rows(trial: ArchivedTrial, names: Sequence[str]) -> Iterator[list[Any]]:
    record = trial.record
    parameters = (cell(record.parameters.get(name)) for name in names)
    shared = [record.id, *parameters, cell(record.at_chance), record.state.value]
    for attempt in trial.attempts:
        for point in attempt.points:
            images = "" if point.images is None else point.images
            yield [*shared, attempt.record.number, point.step, images, point.seconds, point.loss]


def _read_beside(
    path: Path, meta: Path, sweep: ArchivedSweep, width: int, table: Iterable[str], documents: Iterable[str]
) -> Iterator[ArchivedTrial]:
    """The trials of two files, each with the rows that follow for it in the table."""
    rows = csv.reader(table)
    waiting = next(rows, None)
    for line in documents:
        if line.rstrip() == _END:
            if waiting is not None:
                raise DocumentError(
                    f"{path}: has points of a trial that {meta.name} does not name: {waiting[0]!r}", _AGAIN
                )
            return
        document = parse(meta, line)
        trial = document.get("trial") if isinstance(document, dict) else None
        identity = trial.get("id") if isinstance(trial, dict) else None
        own: list[list[str]] = []
        while waiting is not None and waiting[:1] == [identity]:
            own.append(waiting)
            waiting = next(rows, None)
        yield _trial(path, sweep, document, width, own)
    raise DocumentError(f"{meta}: ends before its end", "export it again; it is cut short")


def _read_old(path: Path) -> Iterator[IncomingSweep]:
    """What versions up to 0.1 wrote: one file, with the documents in comments."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        sweep = read_head(path, parse(path, file.readline().removeprefix(_COMMENT)))
        header = next(csv.reader([file.readline()]))
        yield IncomingSweep(sweep, _read_trials(path, sweep, len(header), file))


def _read_trials(path: Path, sweep: ArchivedSweep, width: int, lines: Iterable[str]) -> Iterator[ArchivedTrial]:
    document: Any = None
    rows: list[str] = []
    for line in lines:
        if not line.startswith(_COMMENT):
            rows.append(line)
            continue
        if document is not None or rows:
            yield _trial(path, sweep, document, width, csv.reader(rows))
        if line.rstrip() == f"{_COMMENT}end":
            return
        document, rows = parse(path, line.removeprefix(_COMMENT)), []
    raise DocumentError(f"{path}: ends before its end", "export it again; it is cut short")


def _trial(path: Path, sweep: ArchivedSweep, document: Any, width: int, rows: Iterable[Sequence[str]]) -> ArchivedTrial:
    points: dict[int, list[LossPoint]] = {}
    trial = None
    for row in rows:
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
