"""Trials that somebody has chosen, as the table of all has its rows."""

from __future__ import annotations

from collections.abc import Sequence

from dashboards.frames.trials import BATCH_SIZE, LEARNING_RATE, Outcome, TrialGroup, TrialRow, TrialTable
from sweeper.store import Store, TrialRecord


def chosen_rows(store: Store, trials: TrialTable, chosen: Sequence[str]) -> list[tuple[TrialGroup, TrialRow]]:
    """Chosen trials of the table's sweep with their groups, in this order; those of others are left out.

    Raises:
        NotFoundError: there is no such trial.
        StoreError: the store cannot be read.
    """
    groups = {repr(group.key): group for group in trials.groups}
    names = tuple(trials.groups[0].key)
    found = [one for one in map(store.trials.find, chosen) if one.sweep_id == trials.sweep]
    return [
        (groups.get(repr({name: one.parameters.get(name) for name in names}), trials.groups[0]), _row_of(one, trials))
        for one in found
    ]


def _row_of(trial: TrialRecord, table: TrialTable) -> TrialRow:
    """A trial as the table has it; with repeats one of its seeds has no row of its own there."""
    others = dict.fromkeys(name for row in table.rows[:1] for name in row.others)
    if table.repeats > 1:
        others["seed"] = None
    batch = trial.parameters.get(table.batch_name)
    if batch is None and BATCH_SIZE in trial.parameters:
        batch = trial.parameters[BATCH_SIZE] * trial.workers
    return TrialRow(
        trial=trial.id,
        position=trial.position,
        workers=trial.workers,
        batch_size=batch,
        learning_rate=trial.parameters.get(LEARNING_RATE),
        others={name: trial.parameters.get(name) for name in others},
        state=trial.state,
        outcome=Outcome.NO_RESULT,
        area=None,
        minimum_loss=trial.minimum_loss,
        seconds=trial.seconds,
        winner=False,
    )
