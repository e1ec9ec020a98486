"""Event files that other programs have written: here torch's own writer, and TensorBoard's."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from torch.utils.tensorboard import SummaryWriter

from sweeper.errors import DocumentError, LogFormatError
from sweeper.interchange.event_files import EventWriter
from sweeper.interchange.foreign import ForeignOptions
from sweeper.interchange.logs.base import Keys
from sweeper.interchange.sources import ImportedSweep, find_source, store_sweeps
from sweeper.plan.trial import TrialState
from sweeper.store import Store, open_store

LOSSES = {"a": [2.0, 1.0, 0.5], "b/日本 #1": [2.0, math.nan, math.inf]}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path / 'store.db'}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two runs with hyperparameters, one without a loss."""
    for name, losses in LOSSES.items():
        with SummaryWriter(str(tmp_path / "runs" / name)) as writer:
            for step, loss in enumerate(losses):
                writer.add_scalar("Objective/train", loss, 100 * step, walltime=2e9 + step)
                writer.add_scalar("rate", 0.5, 100 * step, walltime=2e9 + step)
            writer.add_text("note", "hello")
            writer.add_hparams({"lr": 0.25, "batch_size": 32, "optimizer": "adam", "nesterov": True}, {"best": 0.5})
    with SummaryWriter(str(tmp_path / "runs" / "none")) as writer:
        writer.add_scalar("rate", 1, 1)
    return tmp_path / "runs"


def take(store: Store, path: Path, **options: Any) -> ImportedSweep:
    source = find_source(path)
    assert source is not None
    assert (source.format, source.exported) == ("tensorboard-runs", False)
    (imported,) = store_sweeps(store, [source], ForeignOptions(**options))
    return imported


def test_a_run_is_a_trial(store: Store, folder: Path) -> None:
    imported = take(store, folder, keys=Keys(loss="Objective/train"), assignments=("workers=2",))
    assert imported.name == "runs"
    first, second = store.trials.of(imported.restored.sweep_id)
    expected = {"workers": 2, "learning_rate": 0.25, "batch_size": 32, "optimizer": "adam", "nesterov": True}
    assert first.parameters == second.parameters == expected
    assert (first.state, second.state) == (TrialState.COMPLETED, TrialState.DIVERGED)
    for trial, losses in zip((first, second), LOSSES.values(), strict=True):
        points = store.attempts.points(trial.id)
        assert repr([point.loss for point in points]) == repr(losses)
        assert [point.step for point in points] == [0, 100, 200]
        assert [point.seconds - points[0].seconds for point in points] == pytest.approx([0, 1, 2])
    begun = store.attempts.points(first.id)[0].seconds  # after the run's first event
    assert first.area_seconds == pytest.approx(2.0 * begun + 2.25)


def test_what_has_no_place_is_told(store: Store, folder: Path) -> None:
    notes = take(store, folder, keys=Keys(loss="Objective/train")).notes
    assert "runs without a loss are left out: none" in notes
    assert "what is neither scalar nor hyperparameter is left out: note/text_summary" in notes
    (last,) = [note for note in notes if "only the last value" in note]
    assert last.endswith(": best (hyperparameters), rate")


def test_a_single_file_is_a_run(store: Store, folder: Path) -> None:
    file = next(path for path in (folder / "a").iterdir() if path.is_file())
    assert take(store, file, keys=Keys(loss="Objective/train")).restored.points == 3


def test_tensors_are_scalars_too(store: Store, tmp_path: Path) -> None:
    writer = EventFileWriter(str(tmp_path / "run"))
    from tensorboard.plugins.scalar.metadata import create_summary_metadata
    from tensorboard.util.tensor_util import make_tensor_proto

    for step in range(3):
        tensor = make_tensor_proto(2.0 / (1 + step))
        value = Summary.Value(tag="loss", tensor=tensor, metadata=create_summary_metadata("loss", ""))
        writer.add_event(Event(step=step, wall_time=2e9 + step, summary=Summary(value=[value])))
    writer.close()
    assert take(store, tmp_path / "run").restored.points == 3


def test_the_loss_must_be_chosen_where_it_has_no_usual_name(store: Store, folder: Path) -> None:
    with pytest.raises(LogFormatError, match=r"there are .*Objective/train") as error:
        take(store, folder)
    assert "--loss" in error.value.remedy
    assert store.sweeps.all() == []


def test_a_folder_without_events_is_none(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="folder without TensorBoard's event files"):
        find_source(tmp_path)


def write(folder: Path, *sessions: list[tuple[int, float, float]], tag: str = "loss") -> None:
    """A run of some sessions, each a file: step, seconds and loss of each scalar; a writer begins a second before."""
    for number, points in enumerate(sessions):
        path = folder / f"events.out.tfevents.{number:03}"
        with EventWriter(path, 2e9 + points[0][1] - 1) as writer:
            for step, seconds, loss in points:
                writer.scalars(2e9 + seconds, step, {tag: loss})


def curve_of(store: Store, imported: ImportedSweep) -> list[tuple[int, float, float]]:
    (trial,) = store.trials.of(imported.restored.sweep_id)
    return [(p.step, p.seconds, p.loss) for p in store.attempts.points(trial.id)]


def test_a_restarted_run_goes_on_without_the_gap(store: Store, tmp_path: Path) -> None:
    first = [(step, 10.0 * step, 4.0 - step) for step in (1, 2, 3)]
    write(tmp_path / "runs", first, [(3, 5000.0, 1.5), (4, 5010.0, 0.5)])
    imported = take(store, tmp_path / "runs")
    # Step 2 ends 11 s after the first writer began; the second one began 1 s before its first point.
    assert curve_of(store, imported) == [(1, 1.0, 3.0), (2, 11.0, 2.0), (3, 12.0, 1.5), (4, 22.0, 0.5)]
    assert any("went back to an earlier step" in note for note in imported.notes)


def test_a_wall_clock_that_steps_back_is_ordered_by_step(store: Store, tmp_path: Path) -> None:
    write(tmp_path / "runs", [(1, 10.0, 4.0), (2, 20.0, 3.0), (3, 15.0, 2.0), (4, 25.0, 1.0)])
    imported = take(store, tmp_path / "runs")
    assert curve_of(store, imported) == [(1, 1.0, 4.0), (2, 11.0, 3.0), (3, 21.0, 2.0), (4, 31.0, 1.0)]
    assert any("steps back" in note for note in imported.notes)


@pytest.mark.parametrize("damage", ["cut", "changed", "cut within a length"])
def test_a_damaged_file_says_where_it_breaks_off(store: Store, tmp_path: Path, damage: str) -> None:
    write(tmp_path / "runs", [(step, 10.0 * step, 4.0 - step) for step in (1, 2, 3)])
    (file,) = (tmp_path / "runs").iterdir()
    data, record = bytearray(file.read_bytes()), (file.stat().st_size - 40) // 3
    begin = len(data) - record
    if damage == "changed":
        data[begin + 20] ^= 0xFF
    else:
        del data[begin + (5 if damage == "cut within a length" else 20) :]
    file.write_bytes(data)
    imported = take(store, tmp_path / "runs")
    (trial,) = store.trials.of(imported.restored.sweep_id)
    assert trial.points in (1, 2)
    assert f"{file.name} breaks off at byte " in trial.reason
    assert any("breaks off at byte" in note for note in imported.notes)


@pytest.mark.parametrize("below", ["", "lr=0.1/"])
def test_a_writer_for_validation_is_the_trials_evaluation(store: Store, tmp_path: Path, below: str) -> None:
    points = [(step, 10.0 * step, 4.0 - step) for step in (0, 1, 2)]
    write(tmp_path / "runs" / below / "train", points, tag="epoch_loss")
    write(tmp_path / "runs" / below / "validation", [(s, t + 1, 2 * loss) for s, t, loss in points], tag="epoch_loss")
    imported = take(store, tmp_path / "runs")
    assert [loss for _, _, loss in curve_of(store, imported)] == [4.0, 3.0, 2.0]
    (trial,) = store.trials.of(imported.restored.sweep_id)
    found = store.attempts.evaluations(trial.id)
    assert [(one.step, one.loss) for one in found] == [(0, 8.0), (1, 6.0), (2, 4.0)]
    assert all(math.isnan(one.accuracy) and one.images is None for one in found)


@pytest.mark.parametrize("name", ["run1_eval", "test-run1", "run1.validation"])
def test_a_run_named_after_another_one_is_its_evaluation(store: Store, tmp_path: Path, name: str) -> None:
    points = [(step, 10.0 * step, 4.0 - step) for step in (0, 1, 2)]
    write(tmp_path / "runs" / "run1", points)
    write(tmp_path / "runs" / name, [(s, t + 1, 2 * loss) for s, t, loss in points])
    imported = take(store, tmp_path / "runs")
    assert [loss for _, _, loss in curve_of(store, imported)] == [4.0, 3.0, 2.0]


def test_files_that_overlap_in_time_are_told(store: Store, tmp_path: Path) -> None:
    write(tmp_path / "runs", [(1, 10.0, 4.0), (2, 20.0, 3.0)], [(1, 12.0, 4.5), (2, 22.0, 3.5)])
    imported = take(store, tmp_path / "runs")
    assert any("overlap in time" in note for note in imported.notes)
