"""Each sample several times a step: the small version runs, and errors are found at the right evaluations."""

from __future__ import annotations

import json
import lzma
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from engine.config import SAMPLES
from experiments.batch_augmentation.__main__ import main
from experiments.batch_augmentation.pictures import draw_pictures
from experiments.batch_augmentation.recorded import read_runs
from experiments.batch_augmentation.running import CUTOUT
from experiments.study import Study
from sweeper.spec.file import load_spec
from tests.experiments.commands import run_small

FOLDER = Path(__file__).parents[2] / "experiments" / "batch_augmentation"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_small(main, tmp_path_factory.mktemp("small"))


@pytest.mark.long
def test_the_errors_are_those_of_the_store(small: Path, tmp_path: Path) -> None:
    (tmp_path / "sweeps.db").write_bytes(lzma.decompress((small / "result" / "sweeps.db.xz").read_bytes()))
    with closing(sqlite3.connect(tmp_path / "sweeps.db")) as store:
        query = "SELECT trial_id, images, seconds, accuracy FROM evaluation ORDER BY trial_id, step"
        found: dict[str, list[tuple[float, float, float]]] = {}
        for trial, images, seconds, accuracy in store.execute(query):
            found.setdefault(trial, []).append((images / SAMPLES["digits"], seconds, 1 - accuracy))
    runs = read_runs(Study(FOLDER, small, quick=True, executor="local"))
    assert {run.trial.id: run.errors for run in runs} == found
    assert sorted((run.instances, run.seed, run.pictures) for run in runs) == [
        (1, 0, 64),
        (1, 1, 64),
        (2, 0, 128),
        (2, 1, 128),
    ]
    for run in runs:
        errors = found[run.trial.id]
        assert run.epochs == pytest.approx(errors[-1][0])
        middle = sorted(wrong for _, _, wrong in errors)[len(errors) // 2]
        assert run.first_at(middle) == next((one[0], one[1]) for one in errors if one[2] <= middle)
        assert run.first_at(-0.1) is None


@pytest.mark.long
def test_the_tables_name_what_was_done_to_pictures(small: Path) -> None:
    rows = [line.split(" | ") for line in (small / "tables.md").read_text().splitlines() if line.startswith("| shifts")]
    assert [(row[0], row[1], row[2]) for row in rows] == [
        ("| shifts, Cutout of 2", "1", "64"),
        ("| shifts, Cutout of 2", "2", "128"),
    ]
    assert (small / "figures" / "error.svg").exists()


def test_the_spec_has_the_homeworks_settings() -> None:
    spec = load_spec(FOLDER / "augmented.yaml")
    written = json.loads(spec.model_dump_json())
    points = [(one["augmentation.instances"], one["augmentation.cutout"]) for one in written["space"]["points"]]
    assert points == [(1, 0), *((instances, CUTOUT) for instances in (1, 2, 4, 8, 16, 32))]
    assert (written["trial"]["model"], written["trial"]["batch_size"]) == ("resnet-44", 64)


def test_cutout_blanks_at_most_a_square_of_each_instance() -> None:
    figure = draw_pictures()
    if figure is None:
        pytest.skip("no CIFAR-10 on this machine: SWEEPER_DATA names no folder with it")
    shown = [np.asarray(axes.images[0].get_array()) for axes in figure.axes]
    whole = shown[0]
    for instance in shown[1 : len(shown) // 2]:
        changed = (np.abs(instance - whole) > 1e-5).any(axis=2)
        rows, columns = changed.any(axis=1).sum(), changed.any(axis=0).sum()
        assert 0 < rows <= CUTOUT
        assert 0 < columns <= CUTOUT
