"""Loss points and their attempts, over each kind of database: none without its attempt, whoever writes and deletes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, create_engine, delete, event, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from sweeper.errors import StoreError
from sweeper.plan import plan
from sweeper.ranking.curve import LossPoint
from sweeper.spec import parse_spec
from sweeper.store import Store, open_store
from sweeper.store.connection import connect
from sweeper.store.migrations import upgrade
from sweeper.store.statements import insert_points
from sweeper.store.tables import attempt, loss_point, sweep, trial
from sweeper.store.upgrading import upgrade_store
from tests.contracts.databases import PostgresServer

POINTS = [LossPoint(step, 64 * step, 0.1 * step, 1 / step) for step in range(1, 4)]


def claimed(store: Store) -> tuple[str, str]:
    """A sweep and its one trial, which runs in its first attempt."""
    spec = parse_spec({"name": "mine", "space": {"batch_size": [16]}})
    sweep_id = store.sweeps.add(spec, plan(spec))
    (found,) = store.trials.of(sweep_id)
    store.attempts.claim(found.id)
    return sweep_id, found.id


def count(engine: Engine) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(loss_point)).scalar_one()


@pytest.mark.parametrize("of", ["another attempt", "another trial"])
def test_whatever_writes_points_names_an_attempt_that_exists(store: Store, url: str, of: str) -> None:
    _, trial_id = claimed(store)
    other = (trial_id, 2) if of == "another attempt" else ("none", 1)
    engine = connect(url)
    rows = [{"trial_id": one, "attempt": number, "step": 1} for one, number in ((trial_id, 1), other)]
    with pytest.raises(IntegrityError, match=r"(?i)attempt|foreign key"), engine.begin() as connection:
        connection.execute(insert(loss_point), rows)
    assert count(engine) == 0, "all or none"
    store.attempts.add_points(trial_id, 1, POINTS)
    with pytest.raises(IntegrityError), engine.begin() as connection:
        connection.execute(update(loss_point).values(trial_id=other[0], attempt=other[1]))
    with pytest.raises(StoreError, match=r"(?i)attempt|foreign key"):
        store.attempts.add_points(*other, POINTS)
    assert store.attempts.points(trial_id) == POINTS
    engine.dispose()


def test_a_step_has_no_second_point(store: Store) -> None:
    _, trial_id = claimed(store)
    store.attempts.add_points(trial_id, 1, POINTS[:2])
    with pytest.raises(StoreError, match=r"(?i)unique"):
        store.attempts.add_points(trial_id, 1, POINTS[1:])
    assert store.attempts.points(trial_id) == POINTS[:2]


@pytest.mark.parametrize("table", ["sweep", "trial", "attempt"])
def test_points_go_with_their_attempt_whatever_takes_it(store: Store, url: str, table: str) -> None:
    ids = claimed(store), claimed(store)
    for _, trial_id in ids:
        store.attempts.add_points(trial_id, 1, POINTS)
    (sweep_id, trial_id), (_, other) = ids
    gone = {
        "sweep": delete(sweep).where(sweep.c.id == sweep_id),
        "trial": delete(trial).where(trial.c.id == trial_id),
        "attempt": delete(attempt).where(attempt.c.trial_id == trial_id),
    }
    engine = connect(url)
    with engine.begin() as connection:
        connection.execute(gone[table])
    assert count(engine) == len(POINTS)
    assert store.attempts.points(other) == POINTS
    engine.dispose()


def test_no_point_is_left_of_a_sweep_that_goes_while_points_come(postgres: PostgresServer) -> None:
    """Who deletes waits for who writes points of the attempt, and takes these along."""
    with postgres.fresh_url() as url, ThreadPoolExecutor() as pool:
        store, engine = open_store(url), connect(url)
        sweep_id, trial_id = claimed(store)
        with engine.begin() as writing:
            insert_points(writing, trial_id, 1, POINTS)
            deletion = pool.submit(store.sweeps.delete, sweep_id)
            while not _waits(engine):
                assert not deletion.done(), "it does not wait"
        deletion.result()
        assert (count(engine), store.sweeps.all()) == (0, [])
        with pytest.raises(StoreError):
            store.attempts.add_points(trial_id, 1, POINTS)
        engine.dispose()
        store.close()


def test_no_point_comes_of_a_sweep_that_is_going(postgres: PostgresServer) -> None:
    """Who writes points waits for who deletes their attempt, and is refused when it has gone."""
    with postgres.fresh_url() as url, ThreadPoolExecutor() as pool:
        store, engine = open_store(url), connect(url)
        sweep_id, trial_id = claimed(store)
        with engine.begin() as deleting:
            deleting.execute(delete(sweep).where(sweep.c.id == sweep_id))
            written = pool.submit(store.attempts.add_points, trial_id, 1, POINTS)
            while not _waits(engine):
                assert not written.done(), "it does not wait"
        with pytest.raises(StoreError, match="no attempt 1"):
            written.result()
        assert count(engine) == 0
        engine.dispose()
        store.close()


def _waits(engine: Engine) -> bool:
    """Whether somebody waits for a lock that another transaction has."""
    with engine.connect() as connection:
        return bool(connection.execute(text("SELECT count(*) FROM pg_locks WHERE NOT granted")).scalar())


def test_triggers_find_their_tables_from_another_search_path(postgres: PostgresServer) -> None:
    with postgres.fresh_url() as url:
        store = open_store(url)
        sweep_id, trial_id = claimed(store)
        store.attempts.add_points(trial_id, 1, POINTS)
        elsewhere = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
        event.listen(elsewhere, "connect", lambda driver, _: driver.execute("SET search_path TO pg_catalog"))
        with elsewhere.begin() as connection:
            connection.execute(text("DELETE FROM public.sweep WHERE id = :id"), {"id": sweep_id})
        assert store.attempts.points(trial_id) == []
        elsewhere.dispose()
        store.close()


def test_an_upgrade_keeps_points_and_what_holds_of_them(postgres: PostgresServer) -> None:
    with postgres.fresh_url() as url:
        engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
        upgrade(engine, "0007")
        with engine.begin() as connection:
            now = "2026-01-01T00:00:00Z"
            for statement in (
                f"INSERT INTO sweep VALUES ('s', 's', 'import', 'null', NULL, 'seconds', '[]', '{now}')",
                "INSERT INTO trial VALUES ('s-1', 's', 0, 1, '{}', '{}', '{}', 'completed', '', 1, 3, true)",
                f"INSERT INTO attempt VALUES ('s-1', 1, NULL, 'completed', '', '', '{{}}', NULL, NULL, '', '{now}')",
            ):
                connection.execute(text(statement))
            insert_points(connection, "s-1", 1, POINTS)
        upgrade_store(url)
        store = open_store(url, create=False)
        assert store.attempts.points("s-1") == POINTS
        store.sweeps.delete("s")
        assert count(engine) == 0
        engine.dispose()
        store.close()
