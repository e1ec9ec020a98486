"""Several processes that work on one store at the same moment."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import parse_spec
from sweeper.store import open_store

PROCESSES = 3
CLAIMERS, WRITERS, BATCHES = 20, 32, 4
_P = ParamSpec("_P")
_R = TypeVar("_R")
_barriers: list[Callable[[], int]] = []  # in a process of the pool: the one that all of them wait at


class Together:
    """A pool of processes; a call is made once in each, all beginning together."""

    def __init__(self, pool: ProcessPoolExecutor, count: int) -> None:
        self._pool, self._count = pool, count

    def __call__(self, function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> list[_R]:
        """What each process returned; raises what one of them raised."""
        calls = [self._pool.submit(function, *args, **kwargs) for _ in range(self._count)]
        return [call.result(timeout=120) for call in calls]


@contextmanager
def processes(count: int = PROCESSES) -> Iterator[Together]:
    """Fresh processes, as of different programs: nothing of the tests' own state is inherited."""
    multiprocessing.get_context("forkserver").set_forkserver_preload([__name__])
    context = multiprocessing.get_context("spawn" if count == PROCESSES else "forkserver")
    barrier = context.Barrier(count)
    with ProcessPoolExecutor(count, context, _meet_at, (barrier.wait,)) as pool:
        yield Together(pool, count)


def _meet_at(barrier: Callable[[], int]) -> None:
    _barriers.append(barrier)


def claim_all(url: str, trial_ids: Sequence[str]) -> list[str]:
    """Claim each of the trials in turn; the ids of those that this process got."""
    store = open_store(url)
    _barriers[0]()
    won = [trial_id for trial_id in trial_ids if store.attempts.claim(trial_id) is not None]
    store.close()
    return won


def run_all(url: str, sweep_id: str) -> list[str]:
    """Claim, report and finish trials until none is left; the ids of those that this process ran."""
    store = open_store(url)
    _barriers[0]()
    scheduler = store.leases.begin("host", "process")
    won = []
    for trial in store.trials.of(sweep_id):
        attempt = store.attempts.claim(trial.id, scheduler_id=scheduler)
        if attempt is None:
            continue
        store.attempts.start(trial.id, attempt, 0.1, 0.2, {"device": "cpu"})
        points = reported(trial.position)
        for first in range(0, len(points), len(points) // BATCHES):
            store.attempts.add_points(trial.id, attempt, points[first : first + len(points) // BATCHES])
            store.leases.renew(scheduler)
        store.attempts.finish(trial.id, attempt, TrialState.COMPLETED, summarize(points), phases={"compute": 1.0})
        won.append(trial.id)
    store.leases.end(scheduler)
    store.close()
    return won


def reported(position: int) -> list[LossPoint]:
    """The curve that `run_all` records for the trial at this place of the plan."""
    return [LossPoint(step, 32 * step, step / 7, (1 + position) / step) for step in range(1, 10 * BATCHES + 1)]


def open_and_add(url: str) -> str:
    """Open a store that may not exist yet, and add a sweep; its id."""
    _barriers[0]()
    store = open_store(url)
    spec = parse_spec({"name": "mine", "space": {"batch_size": [16, 32]}})
    sweep_id = store.sweeps.add(spec, plan(spec))
    store.close()
    return sweep_id
