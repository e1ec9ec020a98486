"""What TensorBoard's own readers see in an exported folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import json_format
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.hparams import api_pb2
from tensorboard.plugins.hparams.backend_context import Context
from tensorboard.plugins.hparams.list_session_groups import Handler

from sweeper.errors import MissingPackageError
from sweeper.interchange.exporting import write_export
from sweeper.interchange.foreign import ForeignOptions
from sweeper.interchange.formats import SWEEP_FORMATS
from sweeper.interchange.sources import find_source, store_sweeps
from sweeper.ranking.curve import summarize
from sweeper.store import Store, open_store
from sweeper.store.archives import read_archive
from tests.sweeper.interchange.archived_sweeps import fill, plain, told


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path / 'store.db'}")


def export(store: Store, sweep: str, folder: Path) -> Path:
    return write_export(read_archive(store, sweep), SWEEP_FORMATS["tensorboard"], str(folder))


def accumulated(run: Path) -> EventAccumulator:
    accumulator = EventAccumulator(str(run))
    accumulator.Reload()
    return accumulator


def test_each_trial_is_a_run_with_its_curve(store: Store, tmp_path: Path) -> None:
    sweep = fill(store)
    folder = export(store, sweep, tmp_path / "runs")
    runs = sorted(path for path in folder.iterdir() if path.is_dir())
    trials = store.trials.of(sweep)
    assert len(runs) == len(trials)
    for run, trial in zip(runs, trials, strict=True):
        scalars = accumulated(run)
        points = store.attempts.points(trial.id)
        assert ("loss" in scalars.Tags()["scalars"]) == bool(points)
        if points:
            shown = scalars.Scalars("loss")
            assert [event.step for event in shown] == [point.step for point in points]
            with np.errstate(over="ignore"):
                expected = np.array([point.loss for point in points], np.float32)
            np.testing.assert_array_equal([event.value for event in shown], expected)
            # An attempt's begin has a clock's digits, of a tenth of a microsecond.
            apart = [event.wall_time - shown[0].wall_time for event in shown]
            assert apart == pytest.approx([point.seconds - points[0].seconds for point in points], abs=1e-5)


def test_hyperparameters_are_its_parameters(store: Store, tmp_path: Path) -> None:
    trials = [
        ({"workers": n, "learning_rate": n / 3, "kind": "a #1"}, "x", list(plain()), summarize(list(plain())))
        for n in (1, 2)
    ]
    folder = export(store, store.sweeps.add_import("日本", trials), tmp_path / "runs")
    multiplexer = EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(folder))
    multiplexer.Reload()
    context = Context(TBContext(data_provider=MultiplexerDataProvider(multiplexer, str(folder))))
    asked: dict[str, Any] = {
        "allowedStatuses": ["STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_RUNNING", "STATUS_UNKNOWN"],
        "sliceSize": 10,
        "colParams": [{"hparam": "workers"}],
    }
    request = json_format.ParseDict(asked, api_pb2.ListSessionGroupsRequest())
    answer = Handler(RequestContext(), backend_context=context, experiment_id="", request=request).run()
    found = [json_format.MessageToDict(group)["hparams"] for group in answer.session_groups]
    expected = [trial[0] for trial in trials]
    assert sorted(found, key=lambda own: own["workers"]) == expected
    assert all(group.metric_values for group in answer.session_groups)


def test_runs_that_are_missing_or_of_others_are_told(store: Store, tmp_path: Path) -> None:
    sweep = fill(store)
    folder = export(store, sweep, tmp_path / "runs")
    run = sorted(path for path in folder.iterdir() if path.is_dir())[3]
    for file in sorted(run.rglob("*tfevents*")):
        file.rename(file.with_name("events.out.tfevents.other"))
    other = open_store(f"sqlite:///{tmp_path / 'other.db'}")
    source = find_source(folder)
    assert source is not None
    (imported,) = store_sweeps(other, [source], ForeignOptions())
    assert imported.notes == (
        "of the 16 trials that were exported 15 have a run here",
        "runs that sweeper has not written are left out: 1",
    )
    kept = told(store, sweep)
    assert told(other, sweep) == [*kept[:4], *kept[5:]]


def test_without_its_package_the_remedy_is_said(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = fill(store)
    folder = export(store, sweep, tmp_path / "runs")
    monkeypatch.setitem(sys.modules, "tensorboard.compat.proto.event_pb2", None)
    with pytest.raises(MissingPackageError, match="tensorboard is not installed") as error:
        export(store, sweep, tmp_path / "again")
    assert "sweeper[tensorboard]" in error.value.remedy
    source = find_source(folder)
    assert source is not None
    with pytest.raises(MissingPackageError):
        list(source.read(ForeignOptions()))
    assert not (tmp_path / "again").exists()
