"""Sweeps read as a whole, and put as a whole into a store, some trials at a time."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, Table, exists, insert, select, update

from sweeper.ranking.curve import LossPoint
from sweeper.store import rows, statements, tables
from sweeper.store.archived import Archive, ArchivedAttempt, ArchivedSweep, ArchivedTrial
from sweeper.store.areas import compute_areas
from sweeper.store.records import AttemptRecord, EvaluationRecord, GangRecord, Printed, TrialRecord
from sweeper.store.store import Store

IMPORTING = "importing"  # the origin of a sweep that is not whole yet
_TRIALS_AT_ONCE = 64
_ROWS_AT_ONCE = 5000
Trial = TypeVar("Trial")
_POINTS_AT_ONCE = 50_000  # others wait for their turn to write meanwhile: a fraction of a second


@dataclass(frozen=True)
class Restored:
    """What has been put into a store; `kept_ids` where its ids are those that it came with."""

    sweep_id: str
    trials: int
    points: int
    kept_ids: bool


def read_archive(store: Store, sweep_id: str) -> Archive:
    """The sweep of this id, which must be there; its trials are read as they are asked for."""
    gangs = tuple(sorted(store.attempts.gangs(sweep_id), key=lambda gang: (gang.started_at, gang.id)))
    sweep = store.transactions.read(partial(_sweep, sweep_id=sweep_id, gangs=gangs))
    trials = tuple(replace(trial, scheduler_id=None) for trial in store.trials.of(sweep_id))
    return Archive(sweep, trials, partial(_trials, store, trials))


def restore(store: Store, sweep: ArchivedSweep, trials: Iterable[ArchivedTrial]) -> Restored:
    """Put a sweep into a store: all of it, or what `trials` raises and nothing.

    Its ids stay where the store has neither its sweep nor any of its gangs; else all of them are new, also in
    `derived_from`. Texts that mention an id stay as they are. An attempt whose gang the sweep does not name has none.
    While trials come in, the sweep's origin is "importing", and others may write to the store.

    Raises:
        StoreError: the store refuses.
    """
    write = store.transactions.write
    kept = not store.transactions.read(partial(_is_known, sweep=sweep))
    ids = _Ids.kept(sweep) if kept else _Ids.new(sweep)
    restored = Restored(ids.sweep, 0, 0, kept)
    try:
        write(partial(_add_sweep, sweep=sweep, ids=ids), _stands(tables.sweep, ids.sweep))
        for batch in _portions(map(ids.of_trial, trials), _count):
            write(partial(_add_trials, batch=batch), _stands(tables.trial, batch[-1].record.id))
            points = restored.points + sum(map(_count, batch))
            restored = replace(restored, trials=restored.trials + len(batch), points=points)
        write(partial(_complete, sweep=sweep, sweep_id=ids.sweep))
    except BaseException:  # an interrupt too
        store.sweeps.delete(ids.sweep)
        raise
    return restored


@dataclass(frozen=True)
class _Ids:
    """What a sweep, its trials and its gangs are called here."""

    sweep: str
    before: str
    gangs: dict[str, str]

    @classmethod
    def kept(cls, sweep: ArchivedSweep) -> _Ids:
        return cls(sweep.id, sweep.id, {gang.id: gang.id for gang in sweep.gangs})

    @classmethod
    def new(cls, sweep: ArchivedSweep) -> _Ids:
        return cls(secrets.token_hex(4), sweep.id, {gang.id: secrets.token_hex(8) for gang in sweep.gangs})

    def trial(self, before: str) -> str:
        return f"{self.sweep}-{before.removeprefix(f'{self.before}-')}"

    def of_trial(self, trial: ArchivedTrial) -> ArchivedTrial:
        record = trial.record
        source = self.trial(record.derived_from) if record.derived_from else record.derived_from
        here = replace(record, id=self.trial(record.id), sweep_id=self.sweep, derived_from=source, scheduler_id=None)
        return ArchivedTrial(here, tuple(self._of_attempt(attempt, here.id) for attempt in trial.attempts))

    def _of_attempt(self, attempt: ArchivedAttempt, trial_id: str) -> ArchivedAttempt:
        gang = self.gangs.get(attempt.record.gang_id or "")
        return replace(attempt, record=replace(attempt.record, trial_id=trial_id, gang_id=gang))


def _sweep(connection: Connection, sweep_id: str, gangs: tuple[GangRecord, ...]) -> ArchivedSweep:
    row = connection.execute(select(tables.sweep).where(tables.sweep.c.id == sweep_id)).mappings().one()
    return ArchivedSweep(**{**row, "group_by": tuple(row["group_by"]), "gangs": gangs})


def _trials(store: Store, trials: Sequence[TrialRecord]) -> Iterator[ArchivedTrial]:
    for some in _portions(trials, lambda trial: trial.points):
        ids = [trial.id for trial in some]
        yield from store.transactions.read(partial(_whole_trials, ids=ids))


def _whole_trials(connection: Connection, ids: Sequence[str]) -> list[ArchivedTrial]:
    """These trials as they are now; those that have gone are left out."""
    trial, attempt = tables.trial, tables.attempt
    query = statements.trials().where(trial.c.id.in_(ids)).order_by(trial.c.position)
    records = connection.execute(query).mappings().all()
    order = (attempt.c.trial_id, attempt.c.number)
    tries = connection.execute(select(attempt).where(attempt.c.trial_id.in_(ids)).order_by(*order)).mappings().all()
    points, phases, printed = _points(connection, ids), _phases(connection, ids), _printed(connection, ids)
    evaluations: dict[tuple[str, int], list[Any]] = {}
    for row in _reported(connection, tables.evaluation, ids):
        evaluations.setdefault((row["trial_id"], row["attempt"]), []).append(rows.evaluation_record(row))
    attempts: dict[str, list[ArchivedAttempt]] = {}
    for row in tries:
        key = row["trial_id"], row["number"]
        told = tuple(points.get(key, ())), tuple(evaluations.get(key, ())), phases.get(key, {}), printed.get(key)
        attempts.setdefault(key[0], []).append(ArchivedAttempt(rows.attempt_record(row), *told))
    return [
        ArchivedTrial(replace(rows.trial_record(row), scheduler_id=None), tuple(attempts.get(row["id"], ())))
        for row in records
    ]


def _reported(connection: Connection, table: Table, ids: Sequence[str]) -> Sequence[Any]:
    order = (table.c.trial_id, table.c.attempt, table.c.step)
    return connection.execute(select(table).where(table.c.trial_id.in_(ids)).order_by(*order)).mappings().all()


def _points(connection: Connection, ids: Sequence[str]) -> dict[tuple[str, int], list[LossPoint]]:
    table = tables.loss_point.c
    query = select(table.trial_id, table.attempt, table.step, table.images, table.seconds, table.loss)
    found: dict[tuple[str, int], list[LossPoint]] = {}
    rows = connection.execute(query.where(table.trial_id.in_(ids)).order_by(*query.selected_columns[:3]))
    for some in rows.partitions(_ROWS_AT_ONCE):
        for trial, attempt, step, images, seconds, loss in some:
            found.setdefault((trial, attempt), []).append(LossPoint(step, images, seconds, loss))
    return found


def _phases(connection: Connection, ids: Sequence[str]) -> dict[tuple[str, int], dict[str, float]]:
    table = tables.phase
    query = select(table).where(table.c.trial_id.in_(ids)).order_by(table.c.name)
    found: dict[tuple[str, int], dict[str, float]] = {}
    for row in connection.execute(query):
        found.setdefault((row.trial_id, row.attempt), {})[row.name] = row.seconds
    return found


def _printed(connection: Connection, ids: Sequence[str]) -> dict[tuple[str, int], Printed]:
    table = tables.printed
    found = connection.execute(select(table).where(table.c.trial_id.in_(ids)))
    return {(row.trial_id, row.attempt): Printed(row.text, row.omitted) for row in found}


def _complete(connection: Connection, sweep: ArchivedSweep, sweep_id: str) -> None:
    """All trials are in."""
    connection.execute(update(tables.sweep).where(tables.sweep.c.id == sweep_id).values(origin=sweep.origin))
    if not sweep.areas_from_zero:
        compute_areas(connection, sweep_id)


def _is_there(connection: Connection, table: Table, identity: str) -> bool:
    return bool(connection.execute(select(exists().where(table.c.id == identity))).scalar())


def _stands(table: Table, identity: str) -> Callable[[Connection, None], bool]:
    return lambda connection, _: _is_there(connection, table, identity)


def _is_known(connection: Connection, sweep: ArchivedSweep) -> bool:
    known = [(tables.sweep, sweep.id), *((tables.gang, gang.id) for gang in sweep.gangs)]
    return any(_is_there(connection, table, identity) for table, identity in known)


def _add_sweep(connection: Connection, sweep: ArchivedSweep, ids: _Ids) -> None:
    fields = {name: getattr(sweep, name) for name in tables.sweep.c.keys()}  # noqa: SIM118  columns are no mapping
    fields |= {"id": ids.sweep, "origin": IMPORTING, "group_by": list(sweep.group_by)}
    connection.execute(insert(tables.sweep).values(fields))
    gangs = [{**asdict(gang), "id": ids.gangs[gang.id], "sweep_id": ids.sweep} for gang in sweep.gangs]
    if gangs:
        connection.execute(insert(tables.gang), gangs)


def _portions(trials: Iterable[Trial], points: Callable[[Trial], int]) -> Iterator[list[Trial]]:
    portion: list[Trial] = []
    count = 0
    for trial in trials:
        portion.append(trial)
        count += points(trial)
        if len(portion) == _TRIALS_AT_ONCE or count >= _POINTS_AT_ONCE:
            yield portion
            portion, count = [], 0
    if portion:
        yield portion


def _count(trial: ArchivedTrial) -> int:
    return sum(len(attempt.points) for attempt in trial.attempts)


def _add_trials(connection: Connection, batch: Sequence[ArchivedTrial]) -> None:
    attempts = [attempt for trial in batch for attempt in trial.attempts]
    connection.execute(insert(tables.trial), [_fields(trial.record) for trial in batch])
    if attempts:
        connection.execute(insert(tables.attempt), [_fields(attempt.record) for attempt in attempts])
    evaluations, phases, printed = [], [], []
    for attempt in attempts:
        trial_id, number = attempt.record.trial_id, attempt.record.number
        shared = {"trial_id": trial_id, "attempt": number}
        statements.insert_points(connection, trial_id, number, attempt.points)
        evaluations += [{**shared, **_fields(evaluation)} for evaluation in attempt.evaluations]
        phases += [{**shared, "name": name, "seconds": seconds} for name, seconds in attempt.phases.items()]
        printed += [{**shared, **vars(attempt.printed)}] if attempt.printed else []
    for table, values in ((tables.evaluation, evaluations), (tables.phase, phases), (tables.printed, printed)):
        if values:
            connection.execute(insert(table), values)


def _fields(record: TrialRecord | AttemptRecord | EvaluationRecord) -> dict[str, Any]:
    """A record's fields, not copied: they may be large."""
    fields = dict(vars(record))
    if not isinstance(record, TrialRecord):
        return fields
    del fields["kept_state"], fields["kept_attempt"]  # they follow from the attempts
    return fields | {"state": record.state.value}
