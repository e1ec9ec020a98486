"""MLflow's folder of files, as MLflow 2 and 3 lay it out."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from sweeper.errors import DocumentError, LogFormatError
from sweeper.interchange.foreign import ForeignOptions
from sweeper.interchange.sources import ImportedSweep, find_source, store_sweeps
from sweeper.plan.trial import TrialState
from sweeper.store import Store, open_store

BEGIN = 1_770_000_000_000
META = """\
end_time: {end}
experiment_id: '{experiment}'
lifecycle_stage: {stage}
run_id: {run}
run_name: {run}
start_time: {begin}
status: {status}
user_id: me
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path / 'store.db'}")


def write_run(folder: Path, run: str, losses: list[str], *, status: int = 3, stage: str = "active") -> None:
    place = folder / "7" / run
    (place / "metrics" / "train").mkdir(parents=True)
    (place / "params").mkdir()
    (place / "tags").mkdir()
    (place / "meta.yaml").write_text(
        META.format(experiment=7, run=run, begin=BEGIN, end=BEGIN + 9000, stage=stage, status=status)
    )
    lines = [f"{BEGIN + 1000 * n} {loss} {10 * n}\n" for n, loss in enumerate(losses, start=1)]
    (place / "metrics" / "train" / "loss").write_text("".join(lines))
    (place / "params" / "lr").write_text("0.5")
    (place / "tags" / "kind").write_text("日本")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    folder = tmp_path / "mlruns"
    for number, name in ((0, "Default"), (7, "cifar #1")):
        (folder / str(number)).mkdir(parents=True)
        (folder / str(number) / "meta.yaml").write_text(
            f"experiment_id: '{number}'\nlifecycle_stage: active\nname: '{name}'\n", encoding="utf-8"
        )
    write_run(folder, "good", ["2.0", "1.0", "0.5"])
    write_run(folder, "wild", ["2.0", "nan", "1.7976931348623157e+308"])
    write_run(folder, "dead", ["2.0", "x"], status=4)
    write_run(folder, "gone", ["1.0"], stage="deleted")
    return folder


def take(store: Store, path: Path, experiments: tuple[str, ...] = ()) -> list[ImportedSweep]:
    source = find_source(path)
    assert source is not None
    assert (source.format, source.exported) == ("mlflow-files", False)
    return store_sweeps(store, [source], ForeignOptions(experiments=experiments))


def trials_reason(store: Store, sweep: ImportedSweep, run: str) -> str:
    return next(trial.reason for trial in store.trials.of(sweep.restored.sweep_id) if f": {run}" in trial.reason)


def metric(folder: Path, run: str) -> Path:
    return folder / "7" / run / "metrics" / "train" / "loss"


def test_a_run_that_was_restarted_goes_on_without_the_gap(store: Store, recorded: Path) -> None:
    day = 86_400_000
    moments = [(n, 1000 * n, 9 - n) for n in range(1, 6)] + [(n, day + 1000 * n, 8.5 - n) for n in range(4, 9)]
    metric(recorded, "good").write_text("".join(f"{BEGIN + at} {loss} {step}\n" for step, at, loss in moments))
    (sweep,) = take(store, recorded)
    (trial,) = [one for one in store.trials.of(sweep.restored.sweep_id) if ": good" in one.reason]
    found = [(one.step, one.seconds, one.loss) for one in store.attempts.points(trial.id)]
    assert found == [(n, float(n), 9.0 - n if n < 4 else 8.5 - n) for n in range(1, 9)]


def test_a_long_gap_is_not_training_and_said(store: Store, recorded: Path) -> None:
    moments = [(n, 1000 * n + (86_400_000 if n > 3 else 0)) for n in range(1, 7)]
    metric(recorded, "good").write_text("".join(f"{BEGIN + at} {9 - step} {step}\n" for step, at in moments))
    (sweep,) = take(store, recorded)
    (trial,) = [one for one in store.trials.of(sweep.restored.sweep_id) if ": good" in one.reason]
    assert [one.seconds for one in store.attempts.points(trial.id)] == [1, 2, 3, 4, 5, 6]
    assert any("pause" in note for note in sweep.notes)


def test_a_line_that_is_cut_off_is_lost(store: Store, recorded: Path) -> None:
    path = metric(recorded, "good")
    path.write_text(path.read_text()[:-2])
    (sweep,) = take(store, recorded)
    assert "could not be read" in trials_reason(store, sweep, "good")


@pytest.mark.parametrize("place", ["", "7"])
def test_a_folder_of_files_is_read_like_the_database(store: Store, recorded: Path, place: str) -> None:
    (sweep,) = take(store, recorded / place)
    assert sweep.name == "cifar #1"
    trials = {
        trial.reason.partition(": ")[2].partition(";")[0]: trial for trial in store.trials.of(sweep.restored.sweep_id)
    }
    states = {name: trial.state for name, trial in trials.items()}
    assert states == {"good": TrialState.COMPLETED, "wild": TrialState.DIVERGED, "dead": TrialState.FAILED}
    points = store.attempts.points(trials["good"].id)
    assert [(one.step, one.seconds, one.loss) for one in points] == [(10, 1.0, 2.0), (20, 2.0, 1.0), (30, 3.0, 0.5)]
    assert repr([one.loss for one in store.attempts.points(trials["wild"].id)]) == f"[2.0, nan, {math.inf}]"
    assert trials["good"].parameters == {"workers": 1, "learning_rate": 0.5}
    (attempt,) = store.attempts.of(trials["good"].id)
    assert attempt.effective["mlflow"]["tags"] == {"kind": "日本"}
    assert "runs that were deleted in MLflow are left out: 1" in sweep.notes
    assert any("dead: 1 line of its metric train/loss could not be read" in note for note in sweep.notes)
    assert trials_reason(store, sweep, "dead").endswith("1 line of its metric train/loss could not be read")


def test_a_refusal_says_what_there_is(store: Store, recorded: Path) -> None:
    with pytest.raises(DocumentError, match="has no experiment 'nope'"):
        take(store, recorded, experiments=("nope",))
    with pytest.raises(LogFormatError, match="none of its runs has values"):
        take(store, recorded, experiments=("Default",))
