"""What pages and their figures ask a store for: one trial, a page of a sweep's trials, phases of chosen ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, func, select

from sweeper.errors import NotFoundError
from sweeper.store import rows, tables
from sweeper.store.records import TrialRecord
from sweeper.store.transactions import Transactions
from sweeper.trial import TrialState

_AT_ONCE = 500  # values in one statement; SQLite takes a limited number
_ORDERS: dict[str, Any] = {
    "plan": tables.trial.c.position,
    "workers": tables.trial.c.workers,
    "state": tables.trial.c.state,
    "area": tables.trial.c.area_seconds,
    "minimum_loss": tables.trial.c.minimum_loss,
    "seconds": tables.trial.c.seconds,
    "images": tables.trial.c.images,
}
ORDERS = tuple(_ORDERS)


@dataclass(frozen=True)
class TrialPage:
    """Some of the trials of a sweep that were asked for, of `total` in all."""

    trials: tuple[TrialRecord, ...]
    total: int


class Views:
    """Reading for pages; each method is one transaction, and none reads loss points."""

    def __init__(self, transactions: Transactions, store: str) -> None:
        self._read, self._store = transactions.read, store

    def trial(self, trial_id: str) -> TrialRecord:
        """The trial of this id.

        Raises:
            NotFoundError: there is none.
        """
        query = select(tables.trial).where(tables.trial.c.id == trial_id)
        found = self._read(lambda connection: connection.execute(query).mappings().first())
        if found is None:
            problem = f"trial {trial_id!r}: no such trial in {self._store}"
            raise NotFoundError(problem, "`sweeper show SWEEP --json` has the ids of a sweep's trials")
        return rows.trial_record(found)

    def trials(
        self,
        sweep_id: str,
        *,
        state: TrialState | None = None,
        ids: Sequence[str] | None = None,
        order: str = "plan",
        descending: bool = False,
        first: int = 0,
        most: int = 100,
    ) -> TrialPage:
        """At most so many trials of a sweep from the `first` on, by one of `ORDERS`; those without a value last.

        `ids`, a few hundred at most, leaves others out.
        """
        query = select(tables.trial).where(tables.trial.c.sweep_id == sweep_id)
        if state is not None:
            query = query.where(tables.trial.c.state == state.value)
        if ids is not None:
            query = query.where(tables.trial.c.id.in_(ids))
        column = _ORDERS[order]
        ordered = query.order_by(column.is_(None), column.desc() if descending else column, tables.trial.c.position)
        return self._read(lambda connection: _page(connection, query, ordered.offset(first).limit(most)))

    def phases(self, trials: Sequence[str]) -> Mapping[str, Mapping[str, float]]:
        """Seconds by phase of the latest attempt of each of these trials; only of those that have some."""
        phase, trial = tables.phase.c, tables.trial.c
        query = select(phase.trial_id, phase.name, phase.seconds).join(
            tables.trial, (trial.id == phase.trial_id) & (trial.attempt == phase.attempt)
        )

        def read(connection: Connection) -> dict[str, dict[str, float]]:
            found: dict[str, dict[str, float]] = {}
            for begin in range(0, len(trials), _AT_ONCE):
                some = query.where(phase.trial_id.in_(trials[begin : begin + _AT_ONCE]))
                for trial_id, name, seconds in connection.execute(some):
                    found.setdefault(trial_id, {})[name] = seconds
            return found

        return self._read(read)


def _page(connection: Connection, query: Select[Any], shown: Select[Any]) -> TrialPage:
    total = connection.execute(select(func.count()).select_from(query.subquery())).scalar() or 0
    return TrialPage(tuple(rows.trial_record(row) for row in connection.execute(shown).mappings()), int(total))
