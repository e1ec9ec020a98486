"""A sweep moves between the kinds of databases, and stays as it was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sweeper.store import Store, open_store
from sweeper.store.archived import ArchivedTrial
from sweeper.store.archives import IMPORTING, read_archive, restore
from tests.sweeper.interchange.archived_sweeps import fill, told


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    yield opened
    opened.close()


def test_a_sweep_is_the_same_in_every_store(store: Store, other: Store) -> None:
    sweep = fill(store)
    archive = read_archive(store, sweep)
    restored = restore(other, archive.sweep, archive.read())
    points = sum(len(attempt.points) for trial in archive.read() for attempt in trial.attempts)
    assert (restored.sweep_id, restored.trials, restored.points, restored.kept_ids) == (sweep, 16, points, True)
    before = told(store, sweep)
    assert told(other, sweep) == before
    store.sweeps.delete(sweep)
    back = read_archive(other, sweep)
    assert restore(store, back.sweep, back.read()).kept_ids
    assert told(store, sweep) == before


def test_while_trials_come_in_the_sweep_is_not_whole(store: Store, other: Store) -> None:
    archive = read_archive(other, fill(other))
    seen: list[str] = []

    def watched() -> Iterator[ArchivedTrial]:
        for trial in archive.read():
            seen.append(store.sweeps.all()[0].origin)
            yield trial

    restore(store, archive.sweep, watched())
    assert set(seen) == {IMPORTING}
    assert store.sweeps.all()[0].origin == "run"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_breaks_off_leaves_nothing(store: Store, other: Store, error: type[BaseException]) -> None:
    archive = read_archive(other, fill(other))

    def broken() -> Iterator[ArchivedTrial]:
        yield next(archive.read())
        raise error

    with pytest.raises(error):
        restore(store, archive.sweep, broken())
    assert store.sweeps.all() == []
    assert restore(store, archive.sweep, archive.read()).kept_ids


def test_a_gang_that_is_there_makes_all_ids_new(store: Store, other: Store) -> None:
    archive = read_archive(other, fill(other))
    first = restore(store, archive.sweep, archive.read())
    renamed = replace(archive.sweep, id="0123abcd")
    trials = (
        ArchivedTrial(replace(trial.record, id=trial.record.id.replace(archive.sweep.id, "0123abcd")), trial.attempts)
        for trial in archive.read()
    )
    second = restore(store, renamed, trials)
    assert not second.kept_ids
    assert second.sweep_id not in ("0123abcd", first.sweep_id)
    gangs = [{gang.id for gang in store.attempts.gangs(one.sweep_id)} for one in (first, second)]
    assert len(gangs[0]) == len(gangs[1]) == 13
    assert not gangs[0] & gangs[1]


def test_an_attempt_of_a_gang_that_is_not_named_has_none(store: Store, other: Store) -> None:
    archive = read_archive(other, fill(other))
    restored = restore(store, replace(archive.sweep, gangs=()), archive.read())
    attempts = [attempt for trial in store.trials.of(restored.sweep_id) for attempt in store.attempts.of(trial.id)]
    assert attempts
    assert {attempt.gang_id for attempt in attempts} == {None}
