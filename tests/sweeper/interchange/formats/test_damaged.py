"""A file that is cut off or changed is one clear error, and nothing of it stays in the store."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from sweeper.errors import SweeperError
from sweeper.interchange.exporting import write_export
from sweeper.interchange.foreign import ForeignOptions
from sweeper.interchange.formats import SWEEP_FORMATS
from sweeper.interchange.sources import find_source, store_sweeps
from sweeper.store import open_store
from sweeper.store.archives import read_archive
from tests.sweeper.interchange.archived_sweeps import fill

ROUNDS = 25


@pytest.mark.parametrize("name", list(SWEEP_FORMATS))
def test_a_damaged_file_is_refused_whole(name: str, tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'first.db'}")
    exported = write_export(read_archive(store, fill(store)), SWEEP_FORMATS[name], str(tmp_path / "exported"))
    files = sorted(path for path in exported.rglob("*") if path.is_file()) if exported.is_dir() else [exported]
    draw = random.Random(0)
    other = open_store(f"sqlite:///{tmp_path / 'second.db'}")
    refusals: list[SweeperError] = []
    for _ in range(ROUNDS):
        file = draw.choice(files)
        whole = file.read_bytes()
        at = draw.randrange(len(whole))
        cut = draw.random() < 0.5
        file.write_bytes(whole[:at] if cut else whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
        try:
            if source := find_source(exported):
                for done in store_sweeps(other, [source], ForeignOptions()):
                    other.sweeps.delete(done.restored.sweep_id)  # what was changed may be right all the same
        except SweeperError as error:
            refusals.append(error)
        file.write_bytes(whole)
        assert other.sweeps.all() == []
    assert all(error.remedy and "\n" not in str(error) for error in refusals)
    store.close()
    other.close()
