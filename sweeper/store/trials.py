"""The trials of sweeps, read without their points."""

from __future__ import annotations

from collections.abc import Sequence

from sweeper.errors import NotFoundError
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate
from sweeper.store import rows, statements, tables
from sweeper.store.gc_pause import collection_paused
from sweeper.store.records import TrialRecord
from sweeper.store.transactions import Transactions


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
        return [rows.trial_record(row) for row in self._all(query)]

    def find(self, trial_id: str) -> TrialRecord:
        """The trial with this id. Raises NotFoundError where there is none."""
        found = self._all(statements.trials().where(tables.trial.c.id == trial_id))
        if not found:
            raise NotFoundError(
                f"trial {trial_id!r}: no such trial in {self._store_name}", "`sweeper show SWEEP` lists a sweep's"
            )
        return rows.trial_record(found[0])

    def candidates(
        self, sweep_id: str, over: str, *, oversubscribed: bool = False, kept: bool = True
    ) -> list[Candidate]:
        """The trials of a sweep as rankings and heatmaps need them: what of `trials` is over one axis, much faster.

        With `oversubscribed` such trials have their areas over seconds, too. A trial that is repeated counts with the
        result that it has; without `kept` as one that waits or runs.
        """
        query = statements.candidates_of(sweep_id, over, oversubscribed=oversubscribed, kept=kept)
        with collection_paused():
            return self._read(lambda connection: rows.candidates(connection.execute(query).all()))
