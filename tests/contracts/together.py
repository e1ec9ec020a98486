"""Several processes that do the same to one store at the same moment."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from sweeper.plan import plan
from sweeper.spec import parse_spec
from sweeper.store import open_store

PROCESSES = 3
_P = ParamSpec("_P")
_R = TypeVar("_R")
_barriers: list[Callable[[], int]] = []  # in a process of the pool: the one that all of them wait at


class Together:
    """A pool of processes; a call is made once in each, all beginning together."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def __call__(self, function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> list[_R]:
        """What each process returned; raises what one of them raised."""
        calls = [self._pool.submit(function, *args, **kwargs) for _ in range(PROCESSES)]
        return [call.result(timeout=60) for call in calls]


@contextmanager
def processes() -> Iterator[Together]:
    """Fresh processes, as of different programs: nothing is inherited but the arguments."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(PROCESSES)
    with ProcessPoolExecutor(PROCESSES, context, _meet_at, (barrier.wait,)) as pool:
        yield Together(pool)


def _meet_at(barrier: Callable[[], int]) -> None:
    _barriers.append(barrier)


def claim_all(url: str, trial_ids: Sequence[str]) -> list[str]:
    """Claim each of the trials in turn; the ids of those that this process got."""
    store = open_store(url)
    _barriers[0]()
    won = [trial_id for trial_id in trial_ids if store.claim(trial_id) is not None]
    store.close()
    return won


def open_and_add(url: str) -> str:
    """Open a store that may not exist yet, and add a sweep; its id."""
    _barriers[0]()
    store = open_store(url)
    spec = parse_spec({"name": "mine", "space": {"batch_size": [16, 32]}})
    sweep_id = store.add_sweep(spec, plan(spec))
    store.close()
    return sweep_id
