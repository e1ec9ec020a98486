"""Tables and answers of sweeps that are looked at: made once for as long as nothing new has come."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from dashboards.figures.tables import TrialTable, trial_table
from dashboards.pages.kept import Kept
from dashboards.pages.view import View
from sweeper.answers.best import best_of
from sweeper.plan.sweep_state import SweepState
from sweeper.store import Store, SweepRecord

_MOST = 32  # tables, and as many answers and figures
_MOST_ROWS = 150_000  # of all tables together


class Tables:
    """What pages ask of a sweep, kept by the version of its rows; from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tables: Kept[TrialTable] = Kept(_MOST_ROWS, _size_of)
        self._answers: Kept[dict[str, Any]] = Kept(_MOST)
        self._sure: Kept[dict[str, Any]] = Kept(_MOST)
        self._alone, self._asked = Lock(), dict[str, Any]()
        self._drawn: Kept[bytes] = Kept(_MOST)

    def trials(self, sweep: SweepRecord, view: View) -> TrialTable:
        """The table of trials; see `dashboards.figures.tables.trial_table`."""

        def make() -> TrialTable:
            shared, rate = view.oversubscribed, view.rate
            return trial_table(self._store, sweep, view.over, view.threshold, oversubscribed=shared, rate=rate)

        return self._tables.get(_key(sweep, view), self._version(sweep), make)

    def best(self, sweep: SweepRecord, view: View) -> dict[str, Any]:
        """The answer of `sweeper best`, with what is recommended if that is known; see `sweeper.answers.best`."""
        return self._known(sweep, view) or self._answers.get(
            _key(sweep, view), self._version(sweep), lambda: self._answer(sweep, view)
        )

    def recommended(self, sweep: SweepRecord, view: View) -> dict[str, Any]:
        """The same with what is recommended, for which this may have to wait seconds.

        Without it while trials run, which need the cores, and where somebody has meanwhile asked for this sweep by
        another view, as a threshold's slider does.
        """
        key = _key(sweep, view)
        self._asked[sweep.id] = key
        if sweep.state is SweepState.RUNNING:
            return self.best(sweep, view)
        with self._alone:
            if self._asked.get(sweep.id) != key:
                return self.best(sweep, view)
            return self._sure.get(key, self._version(sweep), lambda: self._answer(sweep, view, recommend=True))

    def _known(self, sweep: SweepRecord, view: View) -> dict[str, Any] | None:
        return self._sure.peek(_key(sweep, view), self._version(sweep))

    def _answer(self, sweep: SweepRecord, view: View, *, recommend: bool = False) -> dict[str, Any]:
        shared, rate = view.oversubscribed, view.rate
        asked: dict[str, Any] = {"oversubscribed": shared, "rate": rate, "recommend": recommend}
        return best_of(self._store, sweep, (), view.threshold, view.over, **asked)

    def drawn(self, sweep: SweepRecord, kind: str, view: View, draw: Callable[[], bytes]) -> bytes:
        """A figure as JSON, made by `draw` of what the rows of trials say, and what is recommended if it is known."""
        told = self._known(sweep, view) is not None
        return self._drawn.get((kind, told, *_key(sweep, view)), self._version(sweep), draw)

    def _version(self, sweep: SweepRecord) -> Any:
        return self._store.views.version(sweep.id)


def _key(sweep: SweepRecord, view: View) -> tuple[Any, ...]:
    return (sweep.id, view.over, view.threshold, view.oversubscribed, view.rate)


def _size_of(table: TrialTable) -> int:
    """Its rows; a small table counts for more, so that there are never more than `_MOST`."""
    return max(len(table.rows), _MOST_ROWS // _MOST)
