"""Tables and answers of sweeps that are looked at: made once for as long as nothing new has come."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from dashboards.frames import TrialTable, trial_table
from dashboards.pages.view import View
from sweeper.answers.best import best_answer
from sweeper.store import Store, SweepRecord

Made = TypeVar("Made")
_MOST = 32  # things that are kept
_MOST_ROWS = 150_000  # of tables together


class Tables:
    """What pages ask of a sweep, kept by the version of its rows; from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[Any, tuple[Any, Any]] = OrderedDict()
        self._lock = threading.Lock()
        self._making: dict[Any, threading.Lock] = {}

    def trials(self, sweep: SweepRecord, view: View) -> TrialTable:
        """The table of trials; see `dashboards.frames.trial_table`."""
        return self._once(
            ("trials", sweep.id, view.over, view.threshold, view.oversubscribed, view.rate),
            sweep,
            lambda: trial_table(
                self._store, sweep, view.over, view.threshold, oversubscribed=view.oversubscribed, rate=view.rate
            ),
        )

    def best(self, sweep: SweepRecord, view: View) -> dict[str, Any]:
        """The answer of `sweeper best`; see `sweeper.answers.sweeps.best_answer`."""
        return self._once(
            ("best", sweep.id, view.over, view.threshold, view.oversubscribed, view.rate),
            sweep,
            lambda: best_answer(
                self._store,
                sweep.id,
                (),
                view.threshold,
                view.over,
                oversubscribed=view.oversubscribed,
                rate=view.rate,
            ),
        )

    def drawn(self, sweep: SweepRecord, kind: str, view: View, draw: Callable[[], bytes]) -> bytes:
        """A figure as JSON, made by `draw` of what the rows of trials say."""
        return self._once((kind, sweep.id, view.over, view.threshold, view.oversubscribed, view.rate), sweep, draw)

    def _once(self, key: Any, sweep: SweepRecord, make: Callable[[], Made]) -> Made:
        """What was made under this key of these rows, else made now: one thread makes it, others wait for that."""
        version = self._store.views.version(sweep.id)
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        try:
            with making:
                with self._lock:
                    known = self._kept.get(key)
                    if known and known[0] == version:
                        self._kept.move_to_end(key)
                        return known[1]  # type: ignore[no-any-return]
                made = make()
                with self._lock:
                    self._keep(key, version, made)
                return made
        finally:
            with self._lock:
                self._making.pop(key, None)

    def _keep(self, key: Any, version: Any, made: Any) -> None:
        self._kept[key] = (version, made)
        self._kept.move_to_end(key)
        while len(self._kept) > 1 and (len(self._kept) > _MOST or self._rows() > _MOST_ROWS):
            self._kept.popitem(last=False)

    def _rows(self) -> int:
        return sum(len(made.rows) for _, made in self._kept.values() if isinstance(made, TrialTable))
