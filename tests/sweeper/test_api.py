"""The Python interface: data frames that say what the store and the command line say."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure

import sweeper
from sweeper.answers.best import best_answer
from sweeper.errors import FigureError, NotFoundError, RepeatedError, SpecError, StoreError, UsageError
from sweeper.interchange.exporting import write_export
from sweeper.interchange.formats import SWEEP_FORMATS
from sweeper.plan.trial import TrialState
from sweeper.store import Store, TrialRecord
from sweeper.store.archives import read_archive
from tests.dashboards.figures.scaling.measuring import trained
from tests.dashboards.sweeps import Result, curve, diverging, evaluated
from tests.dashboards.sweeps import run as filled

SMALL = {
    "name": "small",
    "trial": {"model": "neuron", "data": "step-function", "images": 640},
    "space": {"batch_size": [16, 32], "learning_rate": [0.1, 0.5], "workers": [1, 2]},
}

SPACE = {"workers": [1, 2], "batch_size": [16, 32]}


def result(trial: TrialRecord) -> Result:
    ends: dict[tuple[int, int], Result] = {
        (1, 16): curve(4.0, 1.2),
        (1, 32): curve(3.0, 1.5),
        (2, 16): diverging(),
        (2, 32): curve(2.0, 1.9),
    }
    return ends[trial.workers, trial.parameters["batch_size"]]


@pytest.fixture
def sweep(store: Store) -> sweeper.Sweep:
    """Two worker counts: of one the second trial wins, of the other none qualifies; one diverged, one waits."""
    sweep_id = filled(store, SPACE, result).id
    evaluated(store, store.trials.of(sweep_id)[1].id, 0.5, 0.75)
    return sweeper.open(store.name).sweep("latest")


def test_a_row_for_each_trial(sweep: sweeper.Sweep, store: Store) -> None:
    frame = sweep.trials()
    records = store.trials.of(sweep.id)
    assert list(frame.trial) == [record.id for record in records]
    assert list(frame.columns[:5]) == ["trial", "state", "workers", "batch_size", "learning_rate"]
    assert list(frame.area[:2]) == [pytest.approx(4.0), pytest.approx(3.0)]
    assert list(frame.state) == ["completed", "completed", "diverged", "completed"]
    assert frame.accuracy[1] == 0.75
    assert frame.accuracy.isna().sum() == 3


def test_curves_have_the_columns_of_the_csv_export(sweep: sweeper.Sweep, store: Store, tmp_path: Path) -> None:
    path = write_export(read_archive(store, sweep.id), SWEEP_FORMATS["csv"], str(tmp_path / "sweep.csv"))
    written = pd.read_csv(path)
    frame = sweep.curves()
    assert list(frame.columns) == list(written.columns)
    pd.testing.assert_frame_equal(frame, written, check_dtype=False)


def test_curves_of_chosen_trials_and_of_earlier_attempts(store: Store, sweep: sweeper.Sweep) -> None:
    first, second = store.trials.of(sweep.id)[:2]
    assert set(sweep.curves([second.id]).trial) == {second.id}
    assert len(sweep.curves(trials=sweep.trials().trial[:2])) == 10
    with pytest.raises(NotFoundError, match="no such trial"):
        sweep.curves(["none"])
    assert len(sweep.curves([first.id], all_attempts=True)) == 5


def test_best_says_what_the_command_says(sweep: sweeper.Sweep, store: Store) -> None:
    frame = sweep.best()
    answer = best_answer(store, sweep.id)["groups"]
    assert list(frame.workers) == [1, 2]
    assert frame.winner[0] == answer[0]["winner"]["trial"]
    assert (frame.batch_size[0], frame.area[0]) == (32, answer[0]["winner"]["area"])
    assert frame.winner.isna()[1]
    assert frame.best_minimum_loss[1] == pytest.approx(1.9)
    assert list(sweep.best(threshold=2.0).qualified) == [2, 1]
    assert sweep.best(by=["batch_size"], over="images").equals(sweep.best(by="batch_size", over="images"))
    with pytest.raises(SpecError, match="has no parameter"):
        sweep.best(by=["nothing"])
    with pytest.raises(SpecError, match=r"^over: unknown axis 'epochs'; use one of seconds, images, steps, dollars$"):
        sweep.best(over="epochs")


def test_evaluations_and_phases(sweep: sweeper.Sweep) -> None:
    evaluations = sweep.evaluations()
    assert list(evaluations.accuracy) == [0.5, 0.75]
    assert set(evaluations.columns) >= {"trial", "workers", "step", "images", "seconds", "loss"}
    phases = sweep.phases()
    assert list(phases.columns[:1]) == ["trial"]
    assert list(phases.columns[-3:]) == ["phase", "seconds", "seconds_per_step"]
    assert (phases.seconds_per_step > 0).all()


def test_a_figure_is_the_commands(sweep: sweeper.Sweep) -> None:
    figure = sweep.figure("heatmap", threshold=1.6)
    assert isinstance(figure, Figure)
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]  # what a notebook shows
    with pytest.raises(FigureError, match="pie"):
        sweep.figure("pie")
    with pytest.raises(FigureError, match="unknown option 'colour'"):
        sweep.figure("heatmap", colour="red")


def test_a_notebook_shows_a_table(sweep: sweeper.Sweep) -> None:
    html = sweep._repr_html_()
    assert "4 of 4 trials ended" in html
    assert html.count("<tr") == 5
    assert repr(sweep).startswith("<Sweep sweep (")


def test_a_sweep_without_anything_has_all_its_columns(store: Store) -> None:
    filled(store, SPACE, lambda _: None)
    empty = sweeper.open(store.name).sweep()
    assert list(empty.curves().columns[-5:]) == ["attempt", "step", "images", "seconds", "loss"]
    assert empty.evaluations().empty
    assert empty.phases().empty
    assert empty.trials().state.tolist() == [TrialState.PENDING.value] * 4
    assert math.isnan(float(empty.best().best_minimum_loss.astype(float)[0]))


def test_opening_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        sweeper.open(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()


def test_the_sweeps_of_a_store(store: Store, sweep: sweeper.Sweep) -> None:
    with sweeper.open(Path(store.name.removeprefix("sqlite:///"))) as opened:
        frame = opened.sweeps()
        assert frame.sweep.tolist() == [sweep.id]
        assert opened.sweep(sweep.name).id == sweep.id
        assert str(frame.created_at.dt.tz) == "UTC"


def test_a_sweep_is_run_from_a_mapping_in_any_thread(tmp_path: Path) -> None:
    found: list[sweeper.Sweep] = []

    def run() -> None:
        found.append(sweeper.run(SMALL, store=tmp_path / "sweeper.db", executor="local", progress=False))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    (sweep,) = found
    assert sweep.state == "completed"
    assert sweep.trials().state.eq("completed").all()
    assert sweep.curves().groupby("trial").size().min() >= 2
    assert set(sweep.phases().phase) >= {"compute"}
    with pytest.raises(RepeatedError):
        sweeper.run(SMALL, store=tmp_path / "sweeper.db", executor="local", progress=False)


def test_what_cannot_be_run_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="executor: 'cloud' is not known"):
        sweeper.run(SMALL, executor="cloud", store=tmp_path / "x.db")
    with pytest.raises(SpecError, match="space"):
        sweeper.run({"name": "x"}, executor="local", store=tmp_path / "x.db")
    assert not (tmp_path / "x.db").exists()


def test_importing_loads_little() -> None:
    heavy = ["pandas", "torch", "ray", "matplotlib", "numpy", "sqlalchemy", "pydantic"]
    program = f"import sweeper, sys; print([name for name in {heavy} if name in sys.modules], dir(sweeper))"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.startswith("[] ")
    assert "'open'" in said


def test_forecasts_are_a_row_for_each_setting(store: Store) -> None:
    trained(store, {"batch_size": [16, 32, 64, 128], "workers": [1, 2, 4]}, name="x")
    frame = sweeper.open(store.name).sweep("x").forecast([8, 16], dollars_per_worker_hour=2.0, top=2)
    assert list(frame.workers) == [8, 8, 16, 16]
    assert list(frame.columns[:3]) == ["workers", "batch_size", "learning_rate"]
    assert (frame.area_low <= frame.area).all()
    assert (frame.seconds <= frame.seconds_high).all()
    assert list(frame.dollars) == pytest.approx(list(frame.seconds * frame.workers * 2 / 3600))
    assert frame.attrs["note"] is None


def test_forecasts_of_models_whose_losses_do_not_follow_say_so(store: Store) -> None:
    trained(store, {"batch_size": [32, 64], "workers": [1, 2]}, name="x", trial={"model": "resnet-20"})
    sweep = sweeper.open(store.name).sweep("x")
    frame = sweep.forecast(4)
    assert "the losses of resnet-20 do not follow (batch statistics" in frame.attrs["note"]
    assert frame.area.isna().all()
    assert frame.seconds.notna().all()
    assert list(frame.columns[:2]) == ["workers", "batch_size"]
    wrong: list[Any] = [0, "4", True, []]
    for counts in wrong:
        with pytest.raises(SpecError, match=r"workers: .* is given; give whole numbers from 1"):
            sweep.forecast(counts)
    with pytest.raises(SpecError, match="over: images needs losses"):
        sweep.forecast(4, over="images")


def test_figures_take_what_is_theirs(store: Store) -> None:
    trained(store, {"batch_size": [64], "workers": [1, 2]}, name="x", accuracies=lambda _: (0.25, 0.75))
    trained(store, {"batch_size": [64], "workers": [1, 2]}, name="y", trial={"momentum": 0.5})
    sweep = sweeper.open(store.name).sweep("x")
    drawn = sweep.figure("scaling", accuracy=0.5, forecast=[4], with_sweeps=["y"])
    assert len(drawn.axes) == 5
    assert sweep.figure("accuracy", error=True, over="epochs").axes[0].get_xlabel() == "epochs"
    for name, options in (("curves", {"error": True}), ("heatmap", {"accuracy": 0.5})):
        with pytest.raises(FigureError, match=f"{name}: unknown option"):
            sweep.figure(name, **options)
