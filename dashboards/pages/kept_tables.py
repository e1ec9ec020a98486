"""Tables and answers of sweeps that are looked at: made once for as long as nothing new has come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dashboards.figures.tables import TrialTable, trial_table
from dashboards.pages.kept import Kept
from dashboards.pages.view import View
from sweeper.answers.best import best_of
from sweeper.store import Store, SweepRecord

_MOST = 32  # tables, and as many answers and figures
_MOST_ROWS = 150_000  # of all tables together


class Tables:
    """What pages ask of a sweep, kept by the version of its rows; from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tables: Kept[TrialTable] = Kept(_MOST_ROWS, _size_of)
        self._answers: Kept[dict[str, Any]] = Kept(_MOST)
        self._drawn: Kept[bytes] = Kept(_MOST)

    def trials(self, sweep: SweepRecord, view: View) -> TrialTable:
        """The table of trials; see `dashboards.figures.tables.trial_table`."""

        def make() -> TrialTable:
            shared, rate = view.oversubscribed, view.rate
            return trial_table(self._store, sweep, view.over, view.threshold, oversubscribed=shared, rate=rate)

        return self._tables.get(_key(sweep, view), self._version(sweep), make)

    def best(self, sweep: SweepRecord, view: View) -> dict[str, Any]:
        """The answer of `sweeper best`; see `sweeper.answers.best.best_answer`."""

        def make() -> dict[str, Any]:
            shared, rate = view.oversubscribed, view.rate
            return best_of(self._store, sweep, (), view.threshold, view.over, oversubscribed=shared, rate=rate)

        return self._answers.get(_key(sweep, view), self._version(sweep), make)

    def drawn(self, sweep: SweepRecord, kind: str, view: View, draw: Callable[[], bytes]) -> bytes:
        """A figure as JSON, made by `draw` of what the rows of trials say."""
        return self._drawn.get((kind, *_key(sweep, view)), self._version(sweep), draw)

    def _version(self, sweep: SweepRecord) -> Any:
        return self._store.views.version(sweep.id)


def _key(sweep: SweepRecord, view: View) -> tuple[Any, ...]:
    return (sweep.id, view.over, view.threshold, view.oversubscribed, view.rate)


def _size_of(table: TrialTable) -> int:
    """Its rows; a small table counts for more, so that there are never more than `_MOST`."""
    return max(len(table.rows), _MOST_ROWS // _MOST)
