"""Reading sweeps back from an Optuna storage that they were exported to."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sweeper.errors import DocumentError
from sweeper.interchange.document import read_head, read_trial
from sweeper.interchange.formats.base import IncomingSweep
from sweeper.interchange.formats.json_document import parse, points_of_columns
from sweeper.interchange.json_text import load
from sweeper.ranking.curve import LossPoint
from sweeper.store.archived import ArchivedSweep, ArchivedTrial

# System attributes: of each study its sweep's id, and of one of them the head; of a trial what Optuna has no place for.
SWEEP, HEAD, TRIAL, POINTS = "sweeper:sweep", "sweeper:head", "sweeper:trial", "sweeper:points"
_NUMBERS = {"NAN": math.nan, "INF_POS": math.inf, "INF_NEG": -math.inf}


def read_storage(connection: sqlite3.Connection, path: Path) -> Iterator[IncomingSweep]:
    """The sweeps in a storage, in the order in which they were exported.

    Raises:
        DocumentError: there is none, or one is not whole.
    """
    found = connection.execute(
        "SELECT study_id, value_json FROM study_system_attributes WHERE key = ? ORDER BY study_id", (SWEEP,)
    )
    studies: dict[str, list[int]] = {}
    for study, sweep_id in found.fetchall():
        studies.setdefault(load(sweep_id), []).append(study)
    others = connection.execute("SELECT count(*) FROM studies").fetchone()[0] - sum(map(len, studies.values()))
    if not studies:
        raise DocumentError(
            f"{path}: none of its {others} studies was exported by sweeper, and those of others have no seconds",
            "log seconds and losses of each trial to a file, and import that",
        )
    for index, own in enumerate(studies.values()):
        notes = [_others(others, "study", "studies")] if others and not index else []
        sweep = read_head(path, parse(path, parse(path, _head(connection, path, own))))
        yield IncomingSweep(sweep, _trials(connection, path, sweep, own, notes), notes)


def _head(connection: sqlite3.Connection, path: Path, studies: Sequence[int]) -> str:
    for study in studies:
        query = "SELECT value_json FROM study_system_attributes WHERE key = ? AND study_id = ?"
        row = connection.execute(query, (HEAD, study)).fetchone()
        if row:
            return str(row[0])
    raise DocumentError(f"{path}: the first study of a sweep is missing", "export the sweep again")


def _others(count: int, one: str, many: str) -> str:
    return (
        f"{count} {one if count == 1 else many} that sweeper has not written {'is' if count == 1 else 'are'} left out"
    )


def _trials(
    connection: sqlite3.Connection, path: Path, sweep: ArchivedSweep, studies: Sequence[int], notes: list[str]
) -> Iterator[ArchivedTrial]:
    marks = ", ".join("?" * len(studies))
    query = f"SELECT trial_id FROM trials WHERE study_id IN ({marks}) ORDER BY trial_id"
    foreign = 0
    for (trial_id,) in connection.execute(query, studies):
        own = dict(
            connection.execute("SELECT key, value_json FROM trial_system_attributes WHERE trial_id = ?", (trial_id,))
        )
        if TRIAL in own:
            times = parse(path, own.get(POINTS, "[[], []]"))
            points = partial(_points, connection, trial_id, times)
            yield read_trial(path, sweep, parse(path, own[TRIAL]), points)
        else:
            foreign += 1
    if foreign:
        notes.append(f"{_others(foreign, 'trial', 'trials')}: {'it has' if foreign == 1 else 'they have'} no seconds")


def _points(connection: sqlite3.Connection, trial_id: int, times: Any, number: int, there: Any) -> Sequence[LossPoint]:
    if not isinstance(there, int):
        return points_of_columns(number, there)
    query = (
        "SELECT step, intermediate_value, intermediate_value_type FROM trial_intermediate_values"
        " WHERE trial_id = ? ORDER BY step"
    )
    values = connection.execute(query, (trial_id,)).fetchall() if there else []
    return [
        LossPoint(step, images, float(seconds), _NUMBERS.get(kind, value))
        for (step, value, kind), images, seconds in zip(values, *times, strict=True)
    ]
