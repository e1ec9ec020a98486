"""The engine beside DDP: both train the same, the small version runs, and the tables follow from the record."""

from __future__ import annotations

import lzma
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from experiments.against_ddp.__main__ import main
from experiments.against_ddp.drawing import draw_curves
from experiments.against_ddp.showing import LEVELS, read_runs
from experiments.study import Study
from tests.experiments.commands import redraw, run_small

FOLDER = Path(__file__).parents[2] / "experiments" / "against_ddp"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_small(main, tmp_path_factory.mktemp("small"), "--only", "cpu")


@pytest.mark.long
def test_both_see_the_same_images_with_the_same_weights(small: Path, tmp_path: Path) -> None:
    curves = losses(small, tmp_path)
    ours, theirs = (
        {(workers, batch): curve for (name, workers, batch), curve in curves.items() if name == wanted}
        for wanted in ("ours-cpu", "eager-cpu")
    )
    assert ours.keys() == theirs.keys() == {(2, 64)}
    for setting, curve in ours.items():
        assert [images for images, _ in curve] == [images for images, _ in theirs[setting]]
        assert [loss for _, loss in curve] == pytest.approx([loss for _, loss in theirs[setting]], rel=1e-3)


def test_the_recorded_curves_agree_where_little_has_been_learnt(tmp_path: Path) -> None:
    """Later, rounding has grown: the rival's kernels differ."""
    curves = losses(FOLDER, tmp_path)
    pairs = [
        (curve, curves["eager-gpu", workers, batch])
        for (name, workers, batch), curve in curves.items()
        if name == "ours-gpu" and ("eager-gpu", workers, batch) in curves
    ]
    assert pairs
    for ours, theirs in pairs:
        assert [loss for _, loss in ours[:3]] == pytest.approx([loss for _, loss in theirs[:3]], rel=0.01)


def test_one_engine_seed_stays_above_the_level_at_batch_512(tmp_path: Path) -> None:
    redraw(main, FOLDER, tmp_path)
    runs = read_runs(Study(FOLDER, tmp_path, quick=False, executor="local"))["ours-gpu"][1, 512, 0.3]
    lowest = [round(min(point.loss for point in run.points), 2) for run in runs]
    assert sorted(lowest) == [1.89, 1.93, 1.96]
    assert sorted(run.seconds_to(LEVELS["gpu"]) is None for run in runs) == [False, False, True]


def test_four_panels_are_two_by_two_and_a_spike_does_not_set_their_range(tmp_path: Path) -> None:
    redraw(main, FOLDER, tmp_path)
    found = read_runs(Study(FOLDER, tmp_path, quick=False, executor="local"))
    drawn = draw_curves("CPU", found["ours-cpu"], {"eager DDP": found["eager-cpu"]}, 1.2)
    places = [axes.get_subplotspec() for axes in drawn.axes]
    assert [(one.rowspan.start, one.colspan.start) for one in places if one] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    highest = max(point.loss for runs in found["ours-cpu"].values() for point in runs[0].points)
    assert drawn.axes[0].get_ylim()[1] < 2.5 < highest
    assert "spikes are cut off" in drawn.get_suptitle()


def test_the_tables_follow_from_the_recorded_result(tmp_path: Path) -> None:
    redraw(main, FOLDER, tmp_path)
    assert (tmp_path / "README.md").read_text() == (FOLDER / "README.md").read_text()


def losses(folder: Path, tmp_path: Path) -> dict[tuple[str, int, int], list[tuple[int, float]]]:
    """Images and losses by sweep, workers and batch size, of completed trials of the first seed."""
    (tmp_path / "sweeps.db").write_bytes(lzma.decompress((folder / "result" / "sweeps.db.xz").read_bytes()))
    found: dict[tuple[str, int, int], list[tuple[int, float]]] = {}
    with closing(sqlite3.connect(tmp_path / "sweeps.db")) as store:
        query = (
            "SELECT name, workers, json_extract(parameters, '$.batch_size'), loss_point.images, loss FROM loss_point "
            "JOIN trial ON trial.id = trial_id AND trial.attempt = loss_point.attempt "
            "JOIN sweep ON sweep.id = sweep_id WHERE state = 'completed' "
            "AND coalesce(json_extract(parameters, '$.seed'), 0) = 0 ORDER BY step"
        )
        for name, workers, batch, images, loss in store.execute(query):
            found.setdefault((name, workers, batch), []).append((images, loss))
    return found
