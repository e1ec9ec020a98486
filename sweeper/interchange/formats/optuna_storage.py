"""Optuna's storage: a SQLite file that optuna-dashboard opens.

Optuna makes the file and the studies. The rows of trials are written as its tables have them, many at once: through its
own interface each loss takes two statements. What Optuna has no place for is in system attributes of its trials, which
the dashboard does not show.
"""

from __future__ import annotations

import math
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sweeper.interchange.document import head_document, trial_document
from sweeper.interchange.formats.base import IncomingSweep
from sweeper.interchange.formats.json_document import point_columns
from sweeper.interchange.formats.optuna_reading import HEAD, POINTS, SWEEP, TRIAL, read_storage
from sweeper.interchange.formats.optuna_studies import (
    STATES,
    Group,
    attributes_of,
    axis_of,
    constraints_of,
    distributions,
    group_of,
    plain,
    study_names,
    value_of,
)
from sweeper.interchange.json_text import dump
from sweeper.interchange.sqlite_file import has_tables, open_read_only
from sweeper.ranking.curve import LossPoint
from sweeper.store.archived import Archive, ArchivedTrial
from sweeper.store.records import TrialRecord

_METRICS = "study:metric_names"  # Optuna's own attribute


class OptunaFormat:
    """One study a group; the latest attempt's losses are intermediate values, the areas values."""

    name = "optuna"
    suffixes: tuple[str, ...] = (".db", ".sqlite", ".sqlite3")
    companion = ""
    is_one_stream = False

    def write(self, archive: Archive, path: Path) -> None:
        """The studies, then trial by trial."""
        studies = _make_studies(archive, path)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA synchronous = OFF")  # a file that is not whole is not kept
            writer = _TrialWriter(connection, archive, studies)
            for trial in archive.read():
                writer.write(trial)
            connection.commit()

    def recognizes(self, path: Path) -> bool:
        """Whether it has Optuna's tables."""
        return has_tables(path, "studies", "trials", "trial_intermediate_values")

    def read(self, path: Path) -> Iterator[IncomingSweep]:
        """The sweeps that have been exported to it; studies of others are told of."""
        with closing(open_read_only(path)) as connection:
            yield from read_storage(connection, path)


def _make_studies(archive: Archive, path: Path) -> dict[Group, int]:
    """An empty storage with the studies, made in a folder whose path is a URL as it is; their ids by group."""
    from optuna.storages import RDBStorage
    from optuna.study import StudyDirection

    from sweeper.integrations.optuna import quiet_optuna

    sweep = archive.sweep
    with tempfile.TemporaryDirectory() as folder, quiet_optuna():
        file = Path(folder) / "storage.db"
        storage = RDBStorage(f"sqlite:///{file}")
        studies: dict[Group, int] = {}
        for group, name in study_names(sweep, archive.trials).items():
            study = studies[group] = storage.create_new_study([StudyDirection.MINIMIZE], name)
            storage.set_study_system_attr(study, _METRICS, [f"area (loss x {axis_of(sweep)})"])
            storage.set_study_system_attr(study, SWEEP, sweep.id)
            told = {"sweep": sweep.id, "name": sweep.name, "over": sweep.over, "threshold": sweep.threshold}
            for key, value in {**told, "group": ", ".join(f"{key}={value}" for key, value in group)}.items():
                storage.set_study_user_attr(study, key, value)
        first = next(iter(studies.values()))
        storage.set_study_system_attr(first, HEAD, dump(head_document(sweep)))
        storage.remove_session()
        storage.engine.dispose()
        shutil.copyfile(file, path)
    return studies


class _TrialWriter:
    """Writes trials one after another into the tables of an Optuna storage."""

    def __init__(self, connection: sqlite3.Connection, archive: Archive, studies: Mapping[Group, int]) -> None:
        self._connection, self._sweep, self._studies = connection, archive.sweep, studies
        self._counts = dict.fromkeys(studies.values(), 0)
        grouped: dict[Group, list[TrialRecord]] = {}
        for trial in archive.trials:
            grouped.setdefault(group_of(archive.sweep, trial), []).append(trial)
        self._distributions = {group: distributions(archive.sweep, trials) for group, trials in grouped.items()}

    def write(self, trial: ArchivedTrial) -> None:
        """All rows of a trial."""
        record, group = trial.record, group_of(self._sweep, trial.record)
        study = self._studies[group]
        latest = trial.attempts[-1] if trial.attempts else None
        times = (latest.record.started_at, latest.record.ended_at) if latest else (None, None)
        row = (self._counts[study], study, STATES[record.state], *map(_moment, times))
        self._counts[study] += 1
        trial_id = self._connection.execute(
            "INSERT INTO trials (number, study_id, state, datetime_start, datetime_complete) VALUES (?, ?, ?, ?, ?)",
            row,
        ).lastrowid
        assert trial_id is not None
        self._write_parameters(trial_id, record, group)
        self._write_attributes("user", trial_id, {key: dump(value) for key, value in attributes_of(trial).items()})
        self._write_attributes("system", trial_id, self._own_attributes(trial))
        if (value := value_of(self._sweep, record)) is not None:
            finite = math.isfinite(value)
            self._insert("trial_values", trial_id, [(0, value if finite else None, "FINITE" if finite else "INF_POS")])
        if latest:
            self._insert(
                "trial_intermediate_values", trial_id, [(point.step, *_stored(point)) for point in latest.points]
            )

    def _write_parameters(self, trial_id: int, record: TrialRecord, group: Group) -> None:
        from optuna.distributions import distribution_to_json

        rows = []
        for name, value in record.parameters.items():
            distribution = self._distributions[group][name]
            stored = distribution.to_internal_repr(plain(value))
            rows.append((name[:512], float(stored), distribution_to_json(distribution)))
        self._insert("trial_params", trial_id, rows)

    def _own_attributes(self, trial: ArchivedTrial) -> dict[str, str]:
        """What `read_storage` needs, and Optuna's constraints, each as JSON."""
        latest = trial.attempts[-1].points if trial.attempts else None
        document = trial_document(trial, lambda points: len(points) if points is latest else point_columns(points))
        own = {TRIAL: dump(document)}
        if latest:
            own[POINTS] = dump([[point.images for point in latest], [point.seconds for point in latest]])
        return {**own, "constraints": dump(constraints_of(self._sweep, trial.record))}

    def _write_attributes(self, kind: str, trial_id: int, values: Mapping[str, str]) -> None:
        self._insert(f"trial_{kind}_attributes", trial_id, list(values.items()))

    def _insert(self, table: str, trial_id: int, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            columns, marks = ", ".join(("trial_id", *_COLUMNS[table])), ", ".join("?" * (1 + len(_COLUMNS[table])))
            statement = f"INSERT INTO {table} ({columns}) VALUES ({marks})"
            self._connection.executemany(statement, [(trial_id, *row) for row in rows])


_COLUMNS = {
    "trial_params": ("param_name", "param_value", "distribution_json"),
    "trial_user_attributes": ("key", "value_json"),
    "trial_system_attributes": ("key", "value_json"),
    "trial_values": ("objective", "value", "value_type"),
    "trial_intermediate_values": ("step", "intermediate_value", "intermediate_value_type"),
}


def _stored(point: LossPoint) -> tuple[float | None, str]:
    """A loss as Optuna keeps it: a number, or the name of what is none."""
    if math.isfinite(point.loss):
        return point.loss, "FINITE"
    return None, "NAN" if math.isnan(point.loss) else "INF_POS" if point.loss > 0 else "INF_NEG"


def _moment(moment: datetime | None) -> str | None:
    """As SQLAlchemy writes it on SQLite; Optuna's are in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f") if moment else None
