"""The trials of sweeps, read without their points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from sqlalchemy import Text, cast, exists, func, or_, select

from sweeper.errors import NotFoundError
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate
from sweeper.spec.axes import SEED
from sweeper.store import rows, statements, tables
from sweeper.store.gc_pause import collection_paused
from sweeper.store.json_texts import all_decoded
from sweeper.store.records import TrialRecord, WaitingTrial
from sweeper.store.transactions import Transactions

_PORTION = 1000
_FEW = 4  # ids that are named where a beginning fits several


class Trials:
    """The trials of a store, as `Store` says."""

    def __init__(self, transactions: Transactions, store_name: str) -> None:
        self._read, self._all = transactions.read, transactions.rows
        self._store_name = store_name

    def of(self, sweep_id: str, states: Sequence[TrialState] = ()) -> list[TrialRecord]:
        """The trials of a sweep in the order of its plan, those in `states` where given; reads no points."""
        query = statements.trials().where(tables.trial.c.sweep_id == sweep_id).order_by(tables.trial.c.position)
        if states:
            query = query.where(tables.trial.c.state.in_(state.value for state in states))
        with collection_paused():
            return [rows.trial_record(row) for row in self._all(query)]

    def each(self, sweep_id: str) -> Iterable[TrialRecord]:
        """The same, read again and in portions by each who asks: for those who keep little of a trial."""
        return _Each(self, sweep_id)

    def portion(self, sweep_id: str, after: int, most: int) -> list[TrialRecord]:
        """At most so many trials of a sweep, those behind a position in its plan."""
        trial = tables.trial.c
        query = statements.trials().where(trial.sweep_id == sweep_id, trial.position > after)
        return [rows.trial_record(row) for row in self._all(query.order_by(trial.position).limit(most))]

    def kinds(self, sweep_id: str, states: Sequence[TrialState]) -> list[TrialRecord]:
        """Of the trials in these states one for each kind of what a trial needs: workers, resources, model and data."""
        trial = tables.trial.c
        names = ("model", "data", "fc", "device", ("parallel", "channels"))
        needs = [trial.config[name].as_string() for name in names]
        alike = (trial.workers, cast(trial.resources, Text), *needs)
        firsts = (
            select(func.min(trial.position))
            .where(trial.sweep_id == sweep_id, trial.state.in_(state.value for state in states))
            .group_by(*alike)
        )
        query = statements.trials().where(trial.sweep_id == sweep_id, trial.position.in_(firsts))
        return [rows.trial_record(row) for row in self._all(query.order_by(trial.position))]

    def shapes(self, sweep_id: str) -> list[tuple[int, str]]:
        """Numbers of workers, and with each the kinds of resources (the text of JSON), of all trials in any state."""
        trial = tables.trial.c
        query = select(trial.workers, cast(trial.resources, Text)).where(trial.sweep_id == sweep_id).distinct()
        return [(workers, resources) for workers, resources in self._read(lambda one: one.execute(query).all())]

    def waiting(
        self, sweep_id: str, shape: tuple[int, str] | None = None, most: int | None = None
    ) -> list[WaitingTrial]:
        """Trials of a sweep that wait, in the order of its plan: of one of their `shapes`, or all; at most so many."""
        trial = tables.trial.c
        resources = cast(trial.resources, Text)
        query = (
            select(trial.id, trial.position, trial.workers, cast(trial.parameters, Text), resources)
            .where(trial.sweep_id == sweep_id, trial.state == TrialState.PENDING.value)
            .order_by(trial.position)
            .limit(most)
        )
        if shape:
            query = query.where(trial.workers == shape[0], resources == shape[1])
        with collection_paused():
            return self._read(lambda connection: rows.waiting_trials(connection.execute(query).all()))

    def unbegun(self, sweep_id: str) -> Iterable[tuple[str, dict[str, Any]]]:
        """Ids and parameters of the trials that wait and have never begun."""
        trial = tables.trial.c
        unbegun = (trial.sweep_id == sweep_id, trial.state == TrialState.PENDING.value, trial.attempt == 0)
        query = select(trial.id, cast(trial.parameters, Text)).where(*unbegun)
        found = self._read(lambda connection: connection.execute(query).all())
        return zip([row[0] for row in found], all_decoded([row[1] for row in found]), strict=True)

    def have_seeds(self, sweep_id: str) -> bool:
        """Whether any trial of a sweep has a seed among its parameters."""
        trial = tables.trial.c
        seeded = exists().where(trial.sweep_id == sweep_id, trial.parameters[SEED].as_string().is_not(None))
        return bool(self._read(lambda connection: connection.execute(select(seeded)).scalar_one()))

    def find(self, trial_id: str) -> TrialRecord:
        """The trial with this id. Raises NotFoundError where there is none."""
        found = self._all(statements.trials().where(tables.trial.c.id == trial_id))
        if not found:
            raise NotFoundError(
                f"trial {trial_id!r}: no such trial in {self._store_name}", "`sweeper show SWEEP` lists a sweep's"
            )
        return rows.trial_record(found[0])

    def resolve(self, reference: str) -> TrialRecord:
        """The trial with this id, or the only one whose id begins so.

        Raises:
            NotFoundError: there is none, or the beginning fits several.
        """
        like = tables.trial.c.id.startswith(reference, autoescape=True)
        found = self._read(lambda one: one.execute(select(tables.trial.c.id).where(like).limit(_FEW)).scalars().all())
        if len(found) <= 1 or reference in found:
            return self.find(reference if reference in found or not found else found[0])
        some = ", ".join(found[:-1]) + (f" and {found[-1]}" if len(found) < _FEW else ", …")
        raise NotFoundError(f"trial {reference!r}: fits several in {self._store_name}: {some}", "give more of the id")

    def candidates(
        self, sweep_id: str, over: str, *, oversubscribed: bool = False, kept: bool = True, begun: bool = False
    ) -> list[Candidate]:
        """The trials of a sweep as rankings and heatmaps need them: what of `trials` is over one axis, much faster.

        With `oversubscribed` such trials have their areas over seconds, too. A trial that is repeated counts with the
        result that it has; without `kept` as one that waits or runs. Trials that have
        never begun are left out if only those that have `begun` are asked for.
        """
        query = statements.candidates_of(sweep_id, over, oversubscribed=oversubscribed, kept=kept)
        if begun:
            trial = tables.trial.c
            query = query.where(or_(trial.state != TrialState.PENDING.value, trial.attempt > 0))
        with collection_paused():
            # As the driver has them, and put in order here: there are many, and either takes a third of the time.
            found = self._read(lambda connection: connection.execute(query.order_by(None)).cursor.fetchall())
            return rows.candidates(sorted(found, key=itemgetter(statements.PLACE)))


@dataclass(frozen=True)
class _Each:
    """The trials of a sweep, of which no more than a portion is in memory."""

    trials: Trials
    sweep_id: str

    def __iter__(self) -> Iterator[TrialRecord]:
        last = -1
        while portion := self.trials.portion(self.sweep_id, last, _PORTION):
            yield from portion
            last = portion[-1].position
