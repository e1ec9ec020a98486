"""Stores that earlier versions wrote, as `.dump` of sqlite3 gives them: each is read when it has been upgraded.

Each holds a sweep of four trials, of which three have completed and the last one waits.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sweeper.answers.best import best_answer
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import area
from sweeper.spec import parse_spec
from sweeper.store import Store, open_store
from sweeper.store.schema import SCHEMA_HEAD
from sweeper.store.upgrading import upgrade_store

KEPT = Path(__file__).parent / "kept"
VERSIONS = sorted(path.stem for path in KEPT.glob("*.sql"))


def rows_of(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


@pytest.fixture(params=VERSIONS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    path = tmp_path / "sweeper.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((KEPT / f"{request.param}.sql").read_text())
    before = rows_of(path)
    done = upgrade_store(f"sqlite:///{path}")
    assert (done.before, done.after) == (request.param, SCHEMA_HEAD)
    if request.param == SCHEMA_HEAD:
        assert (done.backup, rows_of(path)) == (None, before)
    else:
        assert done.backup == tmp_path / f"sweeper.{request.param}.db"
        assert rows_of(done.backup) == before
    assert {one.name for one in tmp_path.iterdir()} == {"sweeper.db", *([done.backup.name] if done.backup else [])}
    return open_store(f"sqlite:///{path}", create=False)


def test_every_schema_version_has_one() -> None:
    assert [f"{number:04d}" for number in range(1, int(SCHEMA_HEAD) + 1)] == VERSIONS


def test_what_was_recorded_is_all_there(store: Store) -> None:
    (sweep,) = store.sweeps.all()
    assert (sweep.name, sweep.trials, sweep.states) == (
        *("kept", 4),
        {TrialState.COMPLETED: 3, TrialState.PENDING: 1},
    )
    completed = store.trials.of(sweep.id, [TrialState.COMPLETED])
    assert all(trial.area_seconds and trial.minimum_loss and trial.seconds for trial in completed)
    assert [len(store.attempts.points(trial.id)) for trial in completed] == [2, 2, 3]
    for trial in completed:  # they were recorded when areas began at the first point
        points = store.attempts.points(trial.id)
        found = trial.area_seconds, trial.area_images, trial.area_steps
        assert found == (area(points), area(points, "images"), area(points, "steps"))
    assert [attempt.state for trial in completed for attempt in store.attempts.of(trial.id)] == ["completed"] * 3
    store.close()


def test_an_old_sweep_is_ranked_and_goes_on(store: Store) -> None:
    (sweep,) = store.sweeps.all()
    groups = best_answer(store, sweep.id)["groups"]
    assert [(group["group"], group["qualified"]) for group in groups] == [({"workers": 1}, 2), ({"workers": 2}, 1)]
    (waiting,) = store.trials.of(sweep.id, [TrialState.PENDING])
    attempt = store.attempts.claim(waiting.id)
    assert attempt == 1
    store.attempts.release(waiting.id, attempt, "interrupted")
    assert [trial.id for trial in store.trials.of(sweep.id, [TrialState.PENDING])] == [waiting.id]
    store.close()


def test_instances_of_an_earlier_version_go_on_as_they_began(tmp_path: Path) -> None:
    dump = (KEPT / "0005.sql").read_text().replace('"instances": 1}', '"instances": 4}')
    with sqlite3.connect(tmp_path / "sweeper.db") as connection:
        connection.executescript(dump)
    upgrade_store(f"sqlite:///{tmp_path / 'sweeper.db'}")
    store = open_store(f"sqlite:///{tmp_path / 'sweeper.db'}")
    (sweep,) = store.sweeps.all()
    assert sweep.spec.whole().trial.augmentation.batch == "instances"  # type: ignore[union-attr]
    for trial in store.trials.of(sweep.id):
        assert trial.config["augmentation"]["batch"] == "instances"
        assert trial.planned.config.augmentation.copies == 1  # type: ignore[union-attr]
    store.close()


def test_its_trials_are_those_that_its_spec_gives_today(store: Store) -> None:
    (sweep,) = store.sweeps.all()
    keys = [trial.key for trial in plan(parse_spec(sweep.spec.written))]
    assert [f"{sweep.id}-{key}" for key in keys] == [trial.id for trial in store.trials.of(sweep.id)]
    store.close()
