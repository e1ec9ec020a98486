"""The winners trained on: the small version runs, and the recorded runs say what the README says."""

from __future__ import annotations

import lzma
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import fmean

import pytest

from experiments.best_per_worker.__main__ import main
from experiments.best_per_worker.drawing import draw_published_accuracy, draw_published_loss
from experiments.best_per_worker.recorded import GOAL, PUBLISHED, read_runs
from experiments.study import Study
from tests.experiments.commands import redraw, run_small

FOLDER = Path(__file__).parents[2] / "experiments" / "best_per_worker"
RECIPE_S = 3.0  # in which the recipe is to reach the goal


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_small(main, tmp_path_factory.mktemp("small"))


@contextmanager
def recorded(folder: Path, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    (tmp_path / "sweeps.db").write_bytes(lzma.decompress((folder / "result" / "sweeps.db.xz").read_bytes()))
    with closing(sqlite3.connect(tmp_path / "sweeps.db")) as connection:
        yield connection


@pytest.mark.long
def test_the_small_version_trains_all_that_a_cpu_can(small: Path, tmp_path: Path) -> None:
    with recorded(small, tmp_path) as store:
        query = (
            "SELECT name, count(*) FROM sweep JOIN trial ON sweep_id = sweep.id WHERE state = 'completed' GROUP BY 1"
        )
        assert dict(store.execute(query)) == {"published": 2, "recipe": 1}
    assert {path.stem for path in (small / "figures").iterdir()} == {
        "accuracy-over-time",
        "published-accuracy",
        "published-loss",
    }


def test_the_tables_follow_from_the_recorded_result(tmp_path: Path) -> None:
    redraw(main, FOLDER, tmp_path)
    assert (tmp_path / "README.md").read_text() == (FOLDER / "README.md").read_text()


def test_the_recipe_reaches_the_papers_accuracy_in_a_hundredth_of_its_time(tmp_path: Path) -> None:
    """Means of five seeds, computed from the recorded evaluations by plain SQL."""
    with recorded(FOLDER, tmp_path) as store:
        last = store.execute(
            "SELECT trial.seconds, accuracy FROM evaluation JOIN trial ON trial.id = trial_id "
            "JOIN sweep ON sweep.id = sweep_id WHERE sweep.name = 'recipe' AND evaluation.step = trial.steps"
        ).fetchall()
    assert len(last) == 5
    assert fmean(seconds for seconds, _ in last) < RECIPE_S
    assert fmean(accuracy for _, accuracy in last) >= GOAL
    assert fmean(seconds for seconds, _ in last) < PUBLISHED[1][1] / 80


def test_fewer_workers_are_more_accurate_with_the_papers_settings_alone(tmp_path: Path) -> None:
    redraw(main, FOLDER, tmp_path)
    runs = read_runs(Study(FOLDER, tmp_path, quick=False, executor="local"))
    ends = {name: {run.trial.workers: run.last or 0.0 for run in runs[name]} for name in ("published", "ours")}
    assert sorted(ends["published"], key=lambda workers: -ends["published"][workers]) == [1, 2, 4, 8]
    assert min(ends["ours"], key=lambda workers: ends["ours"][workers]) == 1
    peaks = {run.trial.workers: run.best.accuracy for run in runs["ours"] if run.best}
    assert min(peaks, key=lambda workers: peaks[workers]) == 1


def test_figures_say_which_runs_diverged_and_where(tmp_path: Path) -> None:
    redraw(main, FOLDER, tmp_path)
    runs = read_runs(Study(FOLDER, tmp_path, quick=False, executor="local"))["published"]
    for draw in (draw_published_loss, draw_published_accuracy):
        figure = draw(runs)
        labels = [text.get_text() for text in figure.legends[0].get_texts()]
        assert labels == [
            "1 worker, 128/0.5",
            "2 workers, 128/0.5: diverged at step 3,420",
            "4 workers, 128/0.4, sharing a GPU: diverged at step 2,520",
            "8 workers, 64/0.6, sharing a GPU",
        ]
        assert sum(line.get_marker() == "X" for line in figure.axes[0].get_lines()) == 2
        assert figure.get_suptitle().startswith("The paper's settings, trained on\nalexnet-cifar on cifar10, ")
    assert "%" in figure.axes[0].get_ylabel()


def test_one_seed_of_the_recipe_stays_below_the_papers_accuracy(tmp_path: Path) -> None:
    redraw(main, FOLDER, tmp_path)
    runs = read_runs(Study(FOLDER, tmp_path, quick=False, executor="local"))["recipe"]
    assert [run.seed for run in runs if run.first_at(GOAL) is None] == [3]


def test_no_host_path_or_device_is_told(tmp_path: Path) -> None:
    with recorded(FOLDER, tmp_path) as store:
        assert {host for (host,) in store.execute("SELECT DISTINCT hosts FROM gang")} == {'["host"]'}
        assert {log for (log,) in store.execute("SELECT DISTINCT log FROM attempt")} == {""}
        devices = store.execute("SELECT DISTINCT effective ->> 'device_uuid' FROM attempt").fetchall()
        assert all(re.fullmatch("device [0-9a-f]{8}", name) for (name,) in devices)
