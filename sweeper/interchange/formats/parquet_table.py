"""Parquet: a tidy table of loss points, and all else in the file's key-value metadata.

Its columns are those of the CSV file. Metadata: `sweeper.head`, and `sweeper.trials.N` with the trials, some hundreds
a key, as JSON lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sweeper.errors import DocumentError
from sweeper.interchange.document import head_document, read_head, read_trial, trial_document
from sweeper.interchange.formats.base import IncomingSweep
from sweeper.interchange.formats.csv_table import AT_CHANCE, cell, parameter_columns
from sweeper.interchange.formats.json_document import parse
from sweeper.interchange.json_text import dump
from sweeper.ranking.curve import LossPoint
from sweeper.store.archived import Archive, ArchivedSweep, ArchivedTrial
from sweeper.store.records import TrialRecord

_HEAD, _TRIALS = b"sweeper.head", b"sweeper.trials."
_ROWS_AT_ONCE = 100_000  # of a row group: some megabytes
_TRIALS_A_KEY = 500
_LARGEST_METADATA = 2**31 - 1  # bytes; the library's own limit is less than 50,000 trials have


class ParquetFormat:
    """A row a loss point, of all attempts; `sweeper.interchange.document` in the metadata."""

    name = "parquet"
    suffixes: tuple[str, ...] = (".parquet",)
    companion = ""
    is_one_stream = True

    def write(self, archive: Archive, path: Path) -> None:
        """Row groups of many points, in the order of trials and attempts."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = parameter_columns(archive.trials)
        schema = _schema(archive.trials)
        documents: list[str] = []
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for batch in _batches(archive.read(), documents):
                writer.write_table(pa.Table.from_pydict(_columns(batch, names, schema), schema=schema))
            writer.add_key_value_metadata({_HEAD: dump(head_document(archive.sweep)).encode()})
            for number, start in enumerate(range(0, len(documents), _TRIALS_A_KEY)):
                some = f"[{','.join(documents[start : start + _TRIALS_A_KEY])}]"
                writer.add_key_value_metadata({b"%s%d" % (_TRIALS, number): some.encode()})

    def recognizes(self, path: Path) -> bool:
        """Whether it is a Parquet file with our metadata."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with path.open("rb") as file:
                if file.read(4) != b"PAR1":
                    return False
            with pq.ParquetFile(path, thrift_string_size_limit=_LARGEST_METADATA) as opened:
                return _HEAD in (opened.metadata.metadata or {})
        except (OSError, pa.ArrowException):
            return False

    def read(self, path: Path) -> Iterator[IncomingSweep]:
        """Row group by row group."""
        import pyarrow.parquet as pq

        with pq.ParquetFile(path, thrift_string_size_limit=_LARGEST_METADATA) as file:
            metadata = file.metadata.metadata
            sweep = read_head(path, parse(path, metadata[_HEAD].decode()))
            yield IncomingSweep(sweep, _read_trials(path, sweep, metadata, _rows(file)))


def _schema(trials: Sequence[TrialRecord]) -> Any:
    import pyarrow as pa

    values: dict[str, list[Any]] = {name: [] for name in parameter_columns(trials)}
    for trial in trials:
        for name, value in trial.parameters.items():
            values[name].append(value)
    kinds = {"": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
    names = parameter_columns(trials)
    text, whole, real = pa.dictionary(pa.int32(), pa.string()), pa.int64(), pa.float64()
    return pa.schema(
        [
            pa.field("trial", text),
            *(pa.field(names[name], kinds[_kind(own)]) for name, own in values.items()),
            pa.field(AT_CHANCE, pa.bool_()),
            pa.field("state", text),
            *((name, whole) for name in ("attempt", "step", "images")),
            *((name, real) for name in ("seconds", "loss")),
        ]
    )


def _kind(values: Sequence[Any]) -> str:
    """What all values are: "bool", "int" of 64 bits, "float", or "" for text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "bool"
    if kinds == {int}:
        return "int" if all(value is None or abs(value) < 2**63 for value in values) else ""
    return "float" if kinds and kinds <= {int, float} and all(map(_is_real, values)) else ""


def _is_real(value: Any) -> bool:
    try:
        float(0 if value is None else value)
    except OverflowError:  # a whole number beyond all floats
        return False
    return True


def _batches(trials: Iterator[ArchivedTrial], documents: list[str]) -> Iterator[list[ArchivedTrial]]:
    """Trials with about as many points as a row group has; their documents are put aside."""
    batch: list[ArchivedTrial] = []
    rows = 0
    for trial in trials:
        documents.append(dump(trial_document(trial)))
        batch.append(trial)
        rows += sum(len(attempt.points) for attempt in trial.attempts)
        if rows >= _ROWS_AT_ONCE:
            yield batch
            batch, rows = [], 0
    if rows:
        yield batch


def _columns(trials: Sequence[ArchivedTrial], names: dict[str, str], schema: Any) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    for trial in trials:
        record = trial.record
        shared = {column: record.parameters.get(name) for name, column in names.items()}
        shared = {name: _fitting(value, schema.field(name).type) for name, value in shared.items()}
        shared |= {"trial": record.id, AT_CHANCE: record.at_chance, "state": record.state.value}
        for attempt in trial.attempts:
            points = attempt.points
            for name, value in {**shared, "attempt": attempt.record.number}.items():
                columns[name] += [value] * len(points)
            for name in ("step", "images", "seconds", "loss"):
                columns[name] += [getattr(point, name) for point in points]
    return columns


def _fitting(value: Any, kind: Any) -> Any:
    return str(cell(value)) if value is not None and str(kind) == "string" else value


def _rows(file: Any) -> Iterator[tuple[str, int, LossPoint]]:
    """Trial, attempt and point of each row."""
    for group in range(file.num_row_groups):
        table = file.read_row_group(group, columns=["trial", "attempt", "step", "images", "seconds", "loss"])
        columns = [table.column(name).to_pylist() for name in table.column_names]
        for trial, attempt, *point in zip(*columns, strict=True):
            yield trial, attempt, LossPoint(*point)


def _read_trials(
    path: Path, sweep: ArchivedSweep, metadata: dict[bytes, bytes], rows: Iterator[tuple[str, int, LossPoint]]
) -> Iterator[ArchivedTrial]:
    curves = _curves(rows)
    waiting = next(curves, None)

    def points(trial: str) -> Callable[[int, Any], Sequence[LossPoint]]:
        def of_attempt(number: int, _: Any) -> Sequence[LossPoint]:
            nonlocal waiting
            if waiting is None or waiting[:2] != (trial, number):
                return ()
            found, waiting = waiting[2], next(curves, None)
            return found

        return of_attempt

    number = 0
    while (some := metadata.get(b"%s%d" % (_TRIALS, number))) is not None:
        for document in parse(path, some.decode()):
            trial = document.get("trial") if isinstance(document, dict) else None
            identity = trial.get("id") if isinstance(trial, dict) else None
            yield read_trial(path, sweep, document, points(str(identity)))
        number += 1
    if waiting is not None:
        raise DocumentError(f"{path}: has points of trial {waiting[0]} in another order", "export it again")


def _curves(rows: Iterator[tuple[str, int, LossPoint]]) -> Iterator[tuple[str, int, list[LossPoint]]]:
    """Rows of one attempt together."""
    found: tuple[str, int, list[LossPoint]] | None = None
    for trial, attempt, point in rows:
        if found is None or found[:2] != (trial, attempt):
            if found:
                yield found
            found = (trial, attempt, [])
        found[2].append(point)
    if found:
        yield found
