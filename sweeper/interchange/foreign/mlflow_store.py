"""MLflow's SQLite store: an experiment is a sweep, a run a trial."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweeper.errors import DocumentError, LogFormatError
from sweeper.interchange.foreign.base import ForeignOptions
from sweeper.interchange.foreign.recorded import RecordedRun, Value, new_sweep, trials_of
from sweeper.interchange.formats.base import IncomingSweep
from sweeper.interchange.logs.column_names import find_name
from sweeper.interchange.sqlite_file import has_tables, open_read_only
from sweeper.plan.trial import TrialState

_LARGEST = 1.7976931348623157e308  # what MLflow writes for an infinity
_STATES = {"FINISHED": None, "FAILED": TrialState.FAILED}  # all others have not come to their end


class MlflowReader:
    """Reads runs, params, metrics and tags; changes nothing."""

    name = "mlflow"

    def recognizes(self, path: Path) -> bool:
        """Whether it has MLflow's tables."""
        return has_tables(path, "experiments", "runs", "metrics", "params", "tags")

    def read(self, path: Path, options: ForeignOptions) -> Iterator[IncomingSweep]:
        """A sweep for each experiment that has losses."""
        with closing(open_read_only(path)) as connection:
            chosen = _chosen(connection, path, options.experiments)
            ready = [one for one in chosen if find_name("loss", _metrics(connection, one.id), options.keys.loss)]
            left_out = [one.name for one in chosen if one not in ready and _has_runs(connection, one.id)]
            if not ready:
                raise _no_losses(connection, path, chosen)
            for index, experiment in enumerate(ready):
                notes = [f"experiments without such a loss are left out: {', '.join(left_out)}"] if left_out else []
                notes = [] if index else notes
                sweep = new_sweep(experiment.name)
                runs = _runs(connection, experiment.id, notes)
                yield IncomingSweep(sweep, trials_of(sweep, path, runs, options, notes), notes)


@dataclass(frozen=True)
class _Experiment:
    id: int
    name: str


def _chosen(connection: sqlite3.Connection, path: Path, wanted: Sequence[str]) -> list[_Experiment]:
    query = "SELECT experiment_id, name FROM experiments WHERE lifecycle_stage = 'active' ORDER BY experiment_id"
    known = [_Experiment(*row) for row in connection.execute(query)]
    for word in wanted:
        if not any(word in (one.name, str(one.id)) for one in known):
            names = ", ".join(one.name for one in known)
            raise DocumentError(f"{path}: has no experiment {word!r}", f"choose one of {names}")
    return [one for one in known if not wanted or {one.name, str(one.id)} & set(wanted)]


def _metrics(connection: sqlite3.Connection, experiment: int) -> list[str]:
    query = "SELECT DISTINCT key FROM metrics JOIN runs USING (run_uuid) WHERE experiment_id = ? ORDER BY key"
    return [key for (key,) in connection.execute(query, (experiment,))]


def _has_runs(connection: sqlite3.Connection, experiment: int) -> bool:
    query = "SELECT EXISTS (SELECT 1 FROM runs WHERE experiment_id = ?)"
    return bool(connection.execute(query, (experiment,)).fetchone()[0])


def _no_losses(connection: sqlite3.Connection, path: Path, experiments: Sequence[_Experiment]) -> LogFormatError:
    names = dict.fromkeys(key for one in experiments for key in _metrics(connection, one.id))
    if not names:
        return LogFormatError(f"{path}: none of its runs has values over time", "name a store that has")
    return LogFormatError(
        f"{path}: no run has a metric for the loss; there are {', '.join(names)}", "choose among these with --loss NAME"
    )


def _runs(connection: sqlite3.Connection, experiment: int, notes: list[str]) -> Iterator[RecordedRun]:
    query = (
        "SELECT run_uuid, name, status, start_time, end_time, user_id, artifact_uri, lifecycle_stage FROM runs"
        " WHERE experiment_id = ? ORDER BY start_time, run_uuid"
    )
    deleted = 0
    for row in connection.execute(query, (experiment,)):
        if row[-1] == "active":
            yield _run(connection, *row[:-1])
        else:
            deleted += 1
    if deleted:
        notes.append(f"runs that were deleted in MLflow are left out: {deleted}")


def _run(
    connection: sqlite3.Connection,
    run: str,
    name: str | None,
    status: str,
    start: int | None,
    end: int | None,
    user: str | None,
    artifacts: str | None,
) -> RecordedRun:
    told = {"run": run, "status": status, "user": user, "artifacts": artifacts, "tags": _pairs(connection, "tags", run)}
    return mlflow_run(name or run, told, (start, end), _values(connection, run), _pairs(connection, "params", run))


def mlflow_run(
    name: str,
    told: Mapping[str, Any],
    times: tuple[int | None, int | None],
    metrics: Mapping[str, list[Value]],
    parameters: Mapping[str, Any],
) -> RecordedRun:
    """A run of MLflow; `told` has its "status", `times` are its begin and end in milliseconds since 1970."""
    status = str(told["status"])
    ended = status in ("FINISHED", "FAILED")
    return RecordedRun(
        name=name,
        metrics=metrics,
        parameters=parameters,
        told={"mlflow": dict(told)},
        state=_STATES.get(status, TrialState.CANCELLED),
        reason="" if status == "FINISHED" else f"{status} in MLflow" if ended else f"{status} in MLflow when imported",
        began=_seconds(times[0]),
        ended=_seconds(times[1]),
    )


def mlflow_value(value: float) -> float:
    """A value, infinite where it is the largest double, which MLflow writes in place of infinities."""
    return math.copysign(math.inf, value) if abs(value) >= _LARGEST else float(value)


def _pairs(connection: sqlite3.Connection, table: str, run: str) -> dict[str, Any]:
    return dict(connection.execute(f"SELECT key, value FROM {table} WHERE run_uuid = ? ORDER BY key", (run,)))


def _values(connection: sqlite3.Connection, run: str) -> dict[str, list[Value]]:
    columns = "key, step, timestamp, value, is_nan"
    query = f"SELECT {columns} FROM metrics WHERE run_uuid = ? ORDER BY key, rowid"
    found: dict[str, list[Value]] = {}
    for key, step, timestamp, value, is_nan in connection.execute(query, (run,)):
        number = math.nan if is_nan else mlflow_value(value)
        found.setdefault(key, []).append(Value(step, timestamp / 1000, number))
    return found


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
