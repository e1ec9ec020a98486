"""What pages and their figures ask a store for: leaders, a page of a sweep's trials, phases of chosen ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, case, func, select

from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate
from sweeper.store import rows, statements, tables
from sweeper.store.records import TrialPhases, TrialRecord
from sweeper.store.transactions import Transactions

Version = tuple[tuple[str, int, int, int], ...]  # state, trials, attempts and points of each
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

    def __init__(self, transactions: Transactions) -> None:
        self._read = transactions.read

    def version(self, sweep_id: str) -> Version:
        """Equal as long as no trial of a sweep was added, begun or ended: what is made of its rows stays true."""
        trial = tables.trial.c
        query = (
            select(trial.state, func.count(), func.sum(trial.attempt), func.sum(trial.points))
            .where(trial.sweep_id == sweep_id)
            .group_by(trial.state)
            .order_by(trial.state)
        )
        found = self._read(lambda connection: connection.execute(query).all())
        return tuple((state, int(count), int(attempts), int(points)) for state, count, attempts, points in found)

    def loss_range(self, sweep_id: str) -> tuple[float, float] | None:
        """The lowest and the highest minimum loss of a sweep's complete trials without a loss that is not finite."""
        trial = tables.trial.c
        query = select(func.min(trial.minimum_loss), func.max(trial.minimum_loss)).where(
            trial.sweep_id == sweep_id, statements.result_state() == TrialState.COMPLETED.value, trial.finite
        )
        low, high = self._read(lambda connection: connection.execute(query).one())
        return None if low is None else (float(low), float(high))

    def leaders(self, sweep_id: str, over: str, threshold: float | None) -> list[Candidate]:
        """The trials with the smallest area of their worker count, of those that are complete and qualify.

        Where several are equal, all of them. `over` is "seconds", "images" or "steps".
        """
        trial = tables.trial.c
        some = statements.candidates_of(sweep_id, over, oversubscribed=False).order_by(None)
        some = some.where(statements.result_state() == TrialState.COMPLETED.value, trial.finite)
        if threshold is not None:
            some = some.where(trial.minimum_loss <= threshold)
        area = some.selected_columns[4]
        ranked = some.add_columns(func.rank().over(partition_by=trial.workers, order_by=area).label("place"))
        inner = ranked.where(area.is_not(None)).subquery()
        query = select(*list(inner.c)[:-1]).where(inner.c.place == 1)
        return self._read(lambda connection: rows.candidates(connection.execute(query).all()))

    def oversubscribed(self, sweep_id: str) -> int:
        """The number of complete trials whose ranks shared cores or GPUs."""
        trial = tables.trial.c
        query = select(func.count()).where(
            trial.sweep_id == sweep_id, statements.result_state() == TrialState.COMPLETED.value, trial.oversubscribed
        )
        return self._read(lambda connection: connection.execute(query).scalar()) or 0

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

        By area, those that shared cores come after the others, then those that ended early. `ids` leaves others out,
        however many they are.
        """
        trial, column = tables.trial, _ORDERS[order]
        query = statements.trials().where(trial.c.sweep_id == sweep_id)
        if state is not None:
            query = query.where(trial.c.state == state.value)
        last = [column.is_(None), *([_unranked()] if order == "area" else [])]
        ordered = query.order_by(*last, column.desc() if descending else column, trial.c.position)
        if ids is None:
            return self._read(lambda connection: _page(connection, query, ordered.offset(first).limit(most)))
        wanted = frozenset(ids)

        def read(connection: Connection) -> TrialPage:
            # A statement takes so many values and no more: all are put in order, and those that are wanted taken.
            found = [
                one for one in connection.execute(ordered.with_only_columns(trial.c.id)).scalars() if one in wanted
            ]
            shown = found[first : first + most]
            records = connection.execute(statements.trials().where(trial.c.id.in_(shown))).mappings().all()
            by_id = {row["id"]: rows.trial_record(row) for row in records}
            return TrialPage(tuple(by_id[one] for one in shown), len(found))

        return self._read(read)

    def phases(self, trials: Sequence[str]) -> Mapping[str, TrialPhases]:
        """The phases of the attempt that each of these trials has its result of; only of those that have some."""
        phase, trial = tables.phase.c, tables.trial.c
        query = select(phase.trial_id, trial.steps, phase.name, phase.seconds)
        query = query.select_from(tables.phase).join(
            tables.trial, (trial.id == phase.trial_id) & (statements.result_attempt() == phase.attempt)
        )

        def read(connection: Connection) -> dict[str, TrialPhases]:
            found: dict[str, tuple[int | None, dict[str, float]]] = {}
            for begin in range(0, len(trials), _AT_ONCE):
                some = query.where(phase.trial_id.in_(trials[begin : begin + _AT_ONCE]))
                for trial_id, steps, name, seconds in connection.execute(some):
                    found.setdefault(trial_id, (steps, {}))[1][name] = seconds
            return {trial_id: TrialPhases(*one) for trial_id, one in found.items()}

        return self._read(read)


def _unranked() -> ColumnElement[int]:
    """Why a trial's area over seconds is not ranked: 1 where it shared cores, 2 where it is a lower bound; else 0."""
    trial = tables.trial.c
    early = statements.result_state().in_([one.value for one in TrialState if one.ended_early])
    return case((early, 2), (trial.oversubscribed, 1), else_=0)


def _page(connection: Connection, query: Select[Any], shown: Select[Any]) -> TrialPage:
    total = connection.execute(select(func.count()).select_from(query.subquery())).scalar() or 0
    return TrialPage(tuple(rows.trial_record(row) for row in connection.execute(shown).mappings()), int(total))
