"""MLflow's SQLite store, written by MLflow itself."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from sweeper.errors import DocumentError, LogFormatError, SpecError
from sweeper.interchange.foreign import ForeignOptions
from sweeper.interchange.logs.base import Keys
from sweeper.interchange.sources import ImportedSweep, find_source, store_sweeps
from sweeper.plan.trial import TrialState
from sweeper.store import EvaluationRecord, Store, open_store

pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")

from mlflow.entities import LifecycleStage, Metric, Param, RunStatus, RunTag
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

NAME = '实验 #1/日本 "x" <b>'
BEGIN = 1_770_000_000_000


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two experiments, with runs of every state."""
    folder = tmp_path_factory.mktemp("mlflow")
    mlflow = SqlAlchemyStore(f"sqlite:///{folder / 'mlflow.db'}", str(folder / "artifacts"))
    first, second = mlflow.create_experiment(NAME), mlflow.create_experiment("second")
    parameters = {"lr": "0.1", "batch_size": "64", "world_size": "2", "optimizer": "sgd #1"}
    record(mlflow, first, "good", [2.0, 1.0, 0.5], parameters, RunStatus.FINISHED)
    record(mlflow, first, "wild", [2.0, math.nan, math.inf], {**parameters, "lr": "1e-1"}, RunStatus.FINISHED)
    record(mlflow, first, "dead", [2.0, 1.0], {}, RunStatus.FAILED)
    record(mlflow, first, "stopped", [2.0, 1.0], {}, RunStatus.KILLED)
    record(mlflow, first, "empty", [], {}, RunStatus.FINISHED)
    gone = record(mlflow, first, "gone", [1.0], {}, RunStatus.FINISHED)
    mlflow.delete_run(gone)
    record(mlflow, second, "other", [1.0, 0.5], {}, RunStatus.FINISHED)
    mlflow.engine.dispose()
    return folder / "mlflow.db"


def record(mlflow: Any, experiment: str, name: str, losses: list[float], parameters: dict[str, str], end: Any) -> str:
    """A run whose losses come every second, from a second after its begin; its id."""
    run = mlflow.create_run(experiment, "me", BEGIN, [RunTag("kind", "日本")], name).info.run_id
    metrics = [Metric("train_loss", loss, BEGIN + 1000 * n, 10 * n) for n, loss in enumerate(losses, start=1)]
    for n in range(1, len(losses) + 1):
        metrics += [
            Metric("images", 1280 * n, BEGIN + 1000 * n, 10 * n),
            Metric("val_accuracy", n / 10, BEGIN + 1000 * n, 10 * n),
            Metric("grad norm", n, BEGIN + 1000 * n, 10 * n),
        ]
    mlflow.log_batch(run, metrics, [Param(*pair) for pair in parameters.items()], [])
    mlflow.update_run_info(run, end, BEGIN + 10_500, name)
    assert mlflow.get_run(run).info.lifecycle_stage == LifecycleStage.ACTIVE
    return str(run)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path / 'store.db'}")


def take(store: Store, path: Path, **options: Any) -> list[ImportedSweep]:
    source = find_source(path)
    assert source is not None
    assert (source.format, source.exported) == ("mlflow", False)
    return store_sweeps(store, [source], ForeignOptions(**options))


def test_an_experiment_is_a_sweep_and_a_run_a_trial(store: Store, recorded: Path) -> None:
    imported = take(store, recorded)
    assert [one.name for one in imported] == [NAME, "second"]
    trials = {trial.reason.rpartition(": ")[2]: trial for trial in store.trials.of(imported[0].restored.sweep_id)}
    good = trials["good"]
    assert good.parameters == {"workers": 2, "batch_size": 64, "learning_rate": 0.1, "optimizer": "sgd #1"}
    assert [(point.step, point.images, point.seconds, point.loss) for point in store.attempts.points(good.id)] == [
        (10, 1280, 1.0, 2.0),
        (20, 2560, 2.0, 1.0),
        (30, 3840, 3.0, 0.5),
    ]
    assert good.area_seconds == 4.25  # from zero
    states = {name: trial.state for name, trial in trials.items()}
    assert states == {
        "good": TrialState.COMPLETED,
        "wild": TrialState.DIVERGED,
        "dead": TrialState.FAILED,
        "stopped": TrialState.CANCELLED,
    }


def test_values_that_are_not_finite_stay_so(store: Store, recorded: Path) -> None:
    (sweep, _) = take(store, recorded)
    (wild,) = [trial for trial in store.trials.of(sweep.restored.sweep_id) if trial.reason.endswith("wild")]
    assert repr([point.loss for point in store.attempts.points(wild.id)]) == "[2.0, nan, inf]"


def test_accuracies_tags_and_other_metrics_have_a_place(store: Store, recorded: Path) -> None:
    (sweep, _) = take(store, recorded)
    (good,) = [trial for trial in store.trials.of(sweep.restored.sweep_id) if trial.reason.endswith("good")]
    evaluations = store.attempts.evaluations(good.id)
    assert repr(evaluations[0]) == repr(EvaluationRecord(10, 1280, 1.0, math.nan, 0.1))
    assert len(evaluations) == 3
    (attempt,) = store.attempts.of(good.id)
    assert attempt.effective["metrics"] == {"grad norm": 3.0}
    assert attempt.effective["mlflow"]["tags"]["kind"] == "日本"
    assert (attempt.ended_at or attempt.started_at) - attempt.started_at == (
        attempt.started_at.fromtimestamp(10.5) - attempt.started_at.fromtimestamp(0)
    )


def test_what_has_no_place_is_told(store: Store, recorded: Path) -> None:
    (sweep, _) = take(store, recorded)
    assert set(sweep.notes) == {
        "seconds are those of the clock since each run began, with all that it did",
        "runs that were deleted in MLflow are left out: 1",
        "runs without a loss are left out: empty",
        "of these metrics only the last value is kept, with the attempt: grad norm",
    }


def test_one_experiment_and_another_loss_can_be_chosen(store: Store, recorded: Path) -> None:
    keys = Keys(loss="grad norm", seconds="images")
    (sweep,) = take(store, recorded, experiments=("second",), keys=keys, assignments=("workers=4", "learning_rate=0.3"))
    (trial,) = store.trials.of(sweep.restored.sweep_id)
    assert trial.parameters == {"workers": 4, "learning_rate": 0.3}
    assert [(point.seconds, point.loss) for point in store.attempts.points(trial.id)] == [(1280.0, 1.0), (2560.0, 2.0)]


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"keys": Keys(loss="nope")}, LogFormatError, "there are grad norm, images, train_loss, val_accuracy"),
        ({"experiments": ("nope",)}, DocumentError, "has no experiment 'nope'"),
        ({"keys": Keys(seconds="nope")}, LogFormatError, "has no metric 'nope'"),
        ({"assignments": ("workers=0",)}, SpecError, "--set workers: 0 is no count"),
    ],
)
def test_a_refusal_says_what_there_is_and_stores_nothing(
    store: Store, recorded: Path, options: dict[str, Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        take(store, recorded, **options)
    assert store.sweeps.all() == []


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """Runs whose time stamps or parameters are odd, beside a good one."""
    mlflow = SqlAlchemyStore(f"sqlite:///{tmp_path / 'odd.db'}", str(tmp_path / "artifacts"))
    experiment = mlflow.create_experiment("odd")
    record(mlflow, experiment, "good", [2.0, 1.0], {"batch_size": "64"}, RunStatus.FINISHED)
    record(mlflow, experiment, "auto", [2.0, 1.0], {"batch_size": "auto"}, RunStatus.FINISHED)
    record(mlflow, experiment, "nobody", [2.0, 1.0], {"world_size": "0"}, RunStatus.FINISHED)
    for name, moments in {"early": (1, 2), "at once": (BEGIN + 5000, BEGIN + 5000)}.items():
        run = mlflow.create_run(experiment, "me", BEGIN, [], name).info.run_id
        mlflow.log_batch(run, [Metric("loss", 2.0 - n, moment, n) for n, moment in enumerate(moments)], [], [])
        mlflow.update_run_info(run, RunStatus.FINISHED, BEGIN + 10_000, name)
    mlflow.engine.dispose()
    return tmp_path / "odd.db"


def test_odd_runs_do_not_refuse_an_experiment(store: Store, odd: Path) -> None:
    (sweep,) = take(store, odd)
    trials = {trial.reason.rpartition(": ")[2]: trial for trial in store.trials.of(sweep.restored.sweep_id)}
    assert set(trials) == {"good", "auto", "early", "at once"}
    assert trials["auto"].parameters["recorded_batch_size"] == "auto"
    assert any("nobody" in note and "left out" in note for note in sweep.notes)
    assert trials["early"].area_seconds is trials["at once"].area_seconds is None
    assert trials["good"].area_seconds == 3.5
    assert any("early: its time stamps lie before its beginning" in note for note in sweep.notes)
