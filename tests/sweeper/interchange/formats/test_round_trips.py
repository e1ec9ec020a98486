"""Each format keeps a sweep to the last bit: exported, imported into another store, it is the same there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sweeper.errors import DocumentError
from sweeper.guides.samplers import first_points
from sweeper.interchange.exporting import write_export
from sweeper.interchange.formats import SWEEP_FORMATS, SweepFormat
from sweeper.interchange.sources import find_source
from sweeper.plan import plan
from sweeper.spec import parse_spec
from sweeper.store import Store, open_store
from sweeper.store.archives import Restored, read_archive, restore
from tests.sweeper.interchange.archived_sweeps import fill, told

KEPT = Path(__file__).parents[1] / "kept"


@pytest.fixture(params=list(SWEEP_FORMATS))
def file_format(request: pytest.FixtureRequest) -> SweepFormat:
    return SWEEP_FORMATS[request.param]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(f"sqlite:///{tmp_path / 'first.db'}")
    yield store
    store.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    store = open_store(f"sqlite:///{tmp_path / 'second.db'}")
    yield store
    store.close()


def export(store: Store, sweep: str, file_format: SweepFormat, folder: Path) -> Path:
    target = folder / f"exported{file_format.suffixes[0] if file_format.suffixes else ''}"
    return write_export(read_archive(store, sweep), file_format, str(target))


def take(store: Store, file_format: SweepFormat, path: Path) -> Restored:
    (restored,) = [restore(store, incoming.sweep, incoming.trials) for incoming in file_format.read(path)]
    return restored


def test_nothing_is_lost(store: Store, other: Store, file_format: SweepFormat, tmp_path: Path) -> None:
    sweep = fill(store)
    path = export(store, sweep, file_format, tmp_path)
    restored = take(other, file_format, path)
    assert (restored.sweep_id, restored.kept_ids) == (sweep, True)
    assert told(other, sweep) == told(store, sweep)
    again = export(other, sweep, file_format, tmp_path / "again")
    third = open_store(f"sqlite:///{tmp_path / 'third.db'}")
    assert take(third, file_format, again) == restored
    assert told(third, sweep) == told(store, sweep)


def test_ids_that_are_taken_are_given_anew(store: Store, file_format: SweepFormat, tmp_path: Path) -> None:
    sweep = fill(store)
    before = told(store, sweep)
    restored = take(store, file_format, export(store, sweep, file_format, tmp_path))
    assert restored.sweep_id != sweep
    assert not restored.kept_ids
    assert told(store, sweep) == before
    gangs = {
        gang.id: new.id
        for gang, new in zip(store.attempts.gangs(sweep), store.attempts.gangs(restored.sweep_id), strict=True)
    }
    after = "\n".join(told(store, restored.sweep_id))
    for old, new in {**{new: old for old, new in gangs.items()}, restored.sweep_id: sweep}.items():
        after = after.replace(old, new)
    assert after == "\n".join(before)


def test_areas_of_an_earlier_export_are_computed_from_zero(store: Store, other: Store, tmp_path: Path) -> None:
    sweep = fill(store)
    expected = told(store, sweep)
    path = export(store, sweep, SWEEP_FORMATS["json"], tmp_path)
    text, changed = re.subn(r'"area_(\w+)":[0-9][^,]*,', r'"area_\1":0.125,', path.read_text(encoding="utf-8"))
    assert changed  # to whatever an earlier version had
    path.write_text(text.replace('"format":2', '"format":1', 1), encoding="utf-8")
    take(other, SWEEP_FORMATS["json"], path)
    assert told(other, sweep) == expected


def test_it_is_recognised_by_its_content(store: Store, file_format: SweepFormat, tmp_path: Path) -> None:
    path = export(store, fill(store), file_format, tmp_path)
    moved = path.rename(path.with_name("日本 #1.txt"))
    source = find_source(moved)
    assert source is not None
    assert (source.format, source.exported) == (file_format.name, True)


def test_a_sweep_of_which_nothing_has_run(store: Store, other: Store, file_format: SweepFormat, tmp_path: Path) -> None:
    spec = parse_spec({"name": "x", "space": {"workers": [1]}})
    sweep = store.sweeps.add(spec, plan(spec, first_points))
    take(other, file_format, export(store, sweep, file_format, tmp_path))
    assert told(other, sweep) == told(store, sweep)


def test_a_sweep_without_trials(store: Store, other: Store, file_format: SweepFormat, tmp_path: Path) -> None:
    spec = parse_spec({"name": "x", "space": {"workers": [1]}})
    sweep = store.sweeps.add(spec, plan(spec, first_points))
    empty = replace(read_archive(store, sweep), trials=(), read=lambda: iter(()))
    path = write_export(empty, file_format, str(tmp_path / "empty"))
    assert take(other, file_format, path).trials == 0
    assert other.sweeps.find(sweep).name == "x"


def test_a_csv_that_an_older_version_wrote_is_read_whole(store: Store, other: Store) -> None:
    sweep = take(store, SWEEP_FORMATS["csv"], KEPT / "version-0.1.csv").sweep_id
    assert take(other, SWEEP_FORMATS["json"], KEPT / "version-0.1.json").sweep_id == sweep
    assert told(store, sweep) == told(other, sweep)
    source = find_source(KEPT / "version-0.1.csv")
    assert source is not None
    assert source.format == "csv"


def test_a_csv_and_another_ones_second_file_are_refused(store: Store, other: Store, tmp_path: Path) -> None:
    first, second = (export(store, fill(store, name), SWEEP_FORMATS["csv"], tmp_path / name) for name in ("a", "b"))
    second.with_name(f"{second.name}.meta").replace(first.with_name(f"{first.name}.meta"))
    with pytest.raises(DocumentError, match="points"):
        take(other, SWEEP_FORMATS["csv"], first)
    assert other.sweeps.all() == []
