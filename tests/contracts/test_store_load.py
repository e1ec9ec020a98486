"""Many processes and threads at one store."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint
from sweeper.spec import parse_spec
from sweeper.store import Store, open_store
from tests.contracts.together import CLAIMERS, WRITERS, Together, claim_all, processes, reported, run_all


@pytest.fixture(scope="module")
def claimers() -> Iterator[Together]:
    with processes(CLAIMERS) as pool:
        yield pool


@pytest.fixture(scope="module")
def writers() -> Iterator[Together]:
    with processes(WRITERS) as pool:
        yield pool


def added(store: Store, trials: int) -> str:
    spec = parse_spec({"name": "many", "space": {"batch_size": [16, 32]}, "repeats": trials // 2})
    return store.sweeps.add(spec, plan(spec))


def test_of_twenty_claimers_one_gets_each_trial(store: Store, url: str, claimers: Together) -> None:
    sweep = added(store, 60)
    trials = [trial.id for trial in store.trials.of(sweep)]
    won = claimers(claim_all, url, trials)
    assert sorted(trial for share in won for trial in share) == sorted(trials)
    assert {trial.attempt for trial in store.trials.of(sweep, [TrialState.RUNNING])} == {1}
    assert [len(store.attempts.of(trial)) for trial in trials] == [1] * len(trials)


class Reader:
    """Asks for all that a page shows, over and over, until it is told to stop; on a connection of its own."""

    def __init__(self, url: str, sweep: str) -> None:
        self._store, self._sweep = open_store(url), sweep
        self._stop = threading.Event()
        self.seen: list[int] = []  # trials that had ended, at each look

    def __call__(self) -> None:
        while not self._stop.is_set():
            record = self._store.sweeps.find(self._sweep)
            trials = self._store.trials.of(self._sweep)
            self._store.trials.candidates(self._sweep, "seconds")
            # Points come in batches that are there as a whole, and all of them before their trial ends.
            whole = len(reported(0))
            assert all(
                len(self._store.attempts.points(t.id)) == whole for t in trials[::8] if t.state is TrialState.COMPLETED
            )
            self.seen.append(record.ended)
        self._store.close()

    def stop(self) -> None:
        """After the look that it is at."""
        self._stop.set()


def test_many_processes_write_to_sqlite_and_a_reader_polls(tmp_path: Path, writers: Together) -> None:
    url = f"sqlite:///{tmp_path / 'sweeper.db'}"
    store = open_store(url)
    sweep = added(store, 2 * WRITERS)
    reader = Reader(url, sweep)
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(reader)
        try:
            won = writers(run_all, url, sweep)
        finally:
            reader.stop()
        reading.result(timeout=60)
    trials = store.trials.of(sweep)
    assert sorted(trial for share in won for trial in share) == sorted(trial.id for trial in trials)
    assert {(trial.state, trial.attempt) for trial in trials} == {(TrialState.COMPLETED, 1)}
    assert all(store.attempts.points(trial.id) == reported(trial.position) for trial in trials)
    assert reader.seen == sorted(reader.seen)
    store.close()


def test_all_threads_of_a_process_come_to_write(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'sweeper.db'}"
    stores = [open_store(url), open_store(url)]  # the queue is the file's, however often it was opened
    sweep = added(stores[0], 16)
    trials = [trial.id for trial in stores[0].trials.of(sweep)]
    for trial in trials:
        stores[0].attempts.claim(trial)

    def report(number: int) -> int:
        for step in range(1, 21):
            stores[number % 2].attempts.add_points(trials[number], 1, [LossPoint(step, step, float(step), 1.0)])
        return len(stores[number % 2].attempts.points(trials[number]))

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(report, range(16))) == [20] * 16
    for store in stores:
        store.close()
