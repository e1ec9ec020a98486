"""PostgreSQL goes away and comes back: nothing is lost, and nothing is recorded twice."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from alembic import command

from sweeper.errors import StoreError
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.scheduling.scheduler import Scheduler
from sweeper.spec import parse_spec
from sweeper.store import EvaluationRecord, GangRecord, Store, connection, open_store, transactions
from tests.contracts.cutting import cutting
from tests.contracts.databases import PostgresServer, postgres_server
from tests.contracts.together import Together, reported, run_all
from tests.sweeper.scheduling.scripted import ScriptedExecutor, Watcher

ENDS = (signal.SIGINT, signal.SIGQUIT)  # closed properly, or as if it had crashed


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """One that tests may end and start again."""
    with postgres_server() as own:
        yield own


@pytest.fixture
def url(server: PostgresServer) -> Iterator[str]:
    with server.fresh_url() as fresh:
        yield fresh


def added(store: Store, repeats: int) -> str:
    spec = parse_spec({"name": "long", "space": {"batch_size": [16, 32]}, "repeats": repeats})
    return store.sweeps.add(spec, plan(spec))


def curve() -> list[LossPoint]:
    return [LossPoint(step, 32 * step, step / 7, 2.0 / step) for step in range(1, 4)]


def story(store: Store) -> list[object]:
    """All that writes, once; what each call said."""
    now = datetime(2026, 1, 2, tzinfo=UTC)
    sweep = added(store, 2)
    me, other = (store.leases.begin("host", name) for name in ("me", "other"))
    first, second, third, fourth = [trial.id for trial in store.trials.of(sweep)]
    said: list[object] = [store.attempts.claim(trial, scheduler_id=me) for trial in (first, second, first)]
    store.attempts.assign_gang(first, 1, GangRecord("gang", sweep, 1, ["a"], [7], {}, now), "gang.log")
    store.attempts.start(first, 1, 1.0, 2.0, {"device": "cpu"})
    for point in (curve()[:2], curve()[2:]):
        store.attempts.add_points(first, 1, point)
    store.attempts.add_evaluation(first, 1, EvaluationRecord(3, 96, 0.3, 1.0, 0.5))
    store.attempts.finish(first, 1, TrialState.COMPLETED, summarize(curve()), phases={"compute": 0.25})
    store.attempts.release(second, 1, "interrupted")
    said += [
        store.attempts.claim(second, scheduler_id=me),
        store.attempts.claim(third, scheduler_id=other),
        store.leases.renew(me),
    ]
    store.attempts.finish(second, 2, TrialState.FAILED, summarize([]), reason="no")
    store.leases.end(other)
    store.leases.release_left_behind(sweep, lambda _: False)
    store.sweeps.try_failed_again(sweep)
    said.append(store.sweeps.extend(sweep, plan(parse_spec({"name": "more", "space": {"batch_size": [64]}}))))
    store.sweeps.ask_to_stop(sweep)
    said.append(store.attempts.claim(fourth))
    store.sweeps.forget_stop(sweep)
    store.sweeps.add_import("logs", [({"workers": 1}, "a.log", curve(), summarize(curve()))])
    store.sweeps.delete(added(store, 1))
    return said


def all_of(store: Store) -> list[object]:
    """All that a store holds, without its ids and moments."""
    found: list[object] = []
    for sweep in store.sweeps.all():
        found += [sweep.name, sweep.states, sweep.begun]
        for trial in store.trials.of(sweep.id):
            found += [trial.parameters, trial.state, trial.reason, trial.attempt, trial.candidate("seconds")[3:]]
            found += [(a.number, a.state, a.reason, a.gang_id, a.effective, a.log) for a in store.attempts.of(trial.id)]
            for attempt in range(1, trial.attempt + 1):
                found += store.attempts.points(trial.id, attempt), store.attempts.evaluations(trial.id, attempt)
                found.append(store.attempts.phases(trial.id, attempt))
    return found


@pytest.mark.parametrize("arrives", [True, False], ids=["answer lost", "commit lost"])
def test_what_a_lost_connection_leaves_open_is_recorded_once(server: PostgresServer, url: str, arrives: bool) -> None:
    straight = open_store(url)
    said, expected = story(straight), all_of(straight)
    for sweep in straight.sweeps.all():
        straight.sweeps.delete(sweep.id)
    with cutting(server.socket, arrives=arrives) as way:
        cut = open_store(way.url)
        assert story(cut) == said
        assert way.cuts > 20
        cut.close()
    assert all_of(straight) == expected
    straight.close()


@pytest.mark.parametrize("end", ENDS)
def test_a_scheduler_goes_on_after_a_restart(server: PostgresServer, url: str, end: signal.Signals) -> None:
    store = open_store(url)
    sweep = added(store, 20)
    restart = threading.Thread(target=server.restart, args=(end, 0.5))

    def begin() -> None:
        if len(watcher.points) == 10:
            restart.start()

    watcher = Watcher(at_point=begin)
    Scheduler(store, ScriptedExecutor(), watcher).run(sweep)
    restart.join()
    trials = store.trials.of(sweep)
    assert {(trial.state, trial.attempt) for trial in trials} == {(TrialState.COMPLETED, 1)}
    assert all(store.attempts.points(trial.id) == [p for t, p in watcher.points if t == trial.id] for trial in trials)
    assert all(len(store.attempts.points(trial.id)) == 3 for trial in trials)
    store.close()


@pytest.mark.parametrize("end", ENDS)
def test_many_go_on_after_a_restart(server: PostgresServer, url: str, end: signal.Signals, together: Together) -> None:
    store = open_store(url)
    sweep = added(store, 30)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(together, run_all, url, sweep)
        while store.sweeps.find(sweep).ended < 5:
            assert not running.done()
        server.restart(end)
        won = running.result(timeout=120)
    trials = store.trials.of(sweep)
    assert sorted(trial for share in won for trial in share) == sorted(trial.id for trial in trials)
    assert {(trial.state, trial.attempt) for trial in trials} == {(TrialState.COMPLETED, 1)}
    assert all(store.attempts.points(trial.id) == reported(trial.position) for trial in trials)
    assert [len(store.attempts.of(trial.id)) for trial in trials] == [1] * len(trials)
    store.close()


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(("owner", "name"), [(connection, "version_of"), (command, "upgrade")])
def test_a_store_is_opened_through_a_restart(
    server: PostgresServer, url: str, end: signal.Signals, owner: object, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    restarts: list[signal.Signals] = []
    done = getattr(owner, name)

    def restarting(*given: object) -> object:
        if not restarts:
            restarts.append(end)
            server.restart(end)
        return done(*given)

    monkeypatch.setattr(owner, name, restarting)
    store = open_store(url)
    assert restarts
    assert added(store, 1)
    store.close()


def test_a_server_that_stays_away_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "_PATIENCE_S", 1.0)
    with postgres_server() as server:
        store = open_store(server.url)
        sweep = added(store, 1)
    for _ in range(3):  # the later ones do not wait any more
        with pytest.raises(StoreError, match="No such file or directory"):
            store.sweeps.find(sweep)
    store.close()
