"""A folder of TensorBoard's event files: a run a trial, and earlier attempts as runs below it.

Scalars over steps: loss, seconds, images, and of evaluations accuracy and test_loss; "over_images/" has losses and
accuracies over images. The wall time of a point is its attempt's begin, start-up and set-up, and its own seconds.
Parameters are hyperparameters. Numbers have 32 bits there, so a sweep is read back from texts, which have all of it:
`sweeper/sweep` at the top, `sweeper/trial` in each run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sweeper.errors import DocumentError
from sweeper.interchange.document import head_document, read_head, read_trial, trial_document
from sweeper.interchange.event_files import (
    EventWriter,
    event_files,
    mentions,
    need_tensorboard,
    read_events,
    text_of,
)
from sweeper.interchange.formats.base import IncomingSweep
from sweeper.interchange.formats.csv_table import cell
from sweeper.interchange.formats.json_document import parse, point_columns, points_of_columns
from sweeper.interchange.formats.tensorboard_hparams import experiment, session_end, session_start
from sweeper.interchange.json_text import dump
from sweeper.ranking.curve import LossPoint
from sweeper.store.archived import Archive, ArchivedAttempt, ArchivedSweep, ArchivedTrial
from sweeper.store.records import EvaluationRecord, TrialRecord

SWEEP, TRIAL = "sweeper/sweep", "sweeper/trial"
_FILE = "events.out.tfevents.sweeper"
_NAME_BYTES = 150  # of a run's folder; file systems stop at 255


class TensorBoardFormat:
    """Event files that TensorBoard shows, with every bit of the sweep in them."""

    name = "tensorboard"
    suffixes: tuple[str, ...] = ()
    companion = ""
    is_one_stream = False

    def write(self, archive: Archive, path: Path) -> None:
        """The folder with a folder for each trial."""
        need_tensorboard()
        begun = archive.sweep.created_at.timestamp()
        head = {**head_document(archive.sweep), "trials": len(archive.trials)}
        with EventWriter(path / _FILE, begun) as writer:
            writer.text(begun, SWEEP, dump(head))
            writer.hparams(begun, *experiment(archive))
        for number, trial in enumerate(archive.read()):
            _write_trial(path / _run_name(number, trial.record), begun, trial)

    def recognizes(self, path: Path) -> bool:
        """Whether the folder has such a text at its top."""
        return path.is_dir() and mentions(path / _FILE, SWEEP)

    def read(self, path: Path) -> Iterator[IncomingSweep]:
        """Run by run, in the order of their names."""
        need_tensorboard()
        document = parse(path, _text(path / _FILE, SWEEP))
        sweep = read_head(path, document)
        notes: list[str] = []
        yield IncomingSweep(sweep, _read_trials(path, sweep, document.get("trials"), notes), notes)


def _run_name(number: int, trial: TrialRecord) -> str:
    words = ",".join(f"{name}={cell(value)}" for name, value in trial.parameters.items())
    safe = "".join(letter if letter.isalnum() or letter in "-_.,=+" else "_" for letter in words)
    return f"{number:05d}-{safe}".encode()[:_NAME_BYTES].decode(errors="ignore")


def _write_trial(folder: Path, begun: float, trial: ArchivedTrial) -> None:
    latest = trial.attempts[-1] if trial.attempts else None
    start = latest.record.started_at.timestamp() if latest else begun
    with EventWriter(folder / _FILE, start) as writer:
        writer.text(start, TRIAL, dump(trial_document(trial, point_columns)))
        writer.hparams(start, *session_start(trial, start))
        if latest:
            _write_attempt(writer, latest)
        writer.hparams(start, *session_end(trial))
    for attempt in trial.attempts[:-1]:
        with EventWriter(folder / f"attempt-{attempt.record.number}" / _FILE, start) as writer:
            _write_attempt(writer, attempt)


def _write_attempt(writer: EventWriter, attempt: ArchivedAttempt) -> None:
    record = attempt.record
    zero = record.started_at.timestamp() + (record.startup_seconds or 0.0) + (record.setup_seconds or 0.0)
    for point in attempt.points:
        images = {} if point.images is None else {"images": float(point.images)}
        values = {"loss": point.loss, "seconds": point.seconds, **images}
        writer.scalars(_moment(zero, point), point.step, values)
    for evaluation in attempt.evaluations:
        values = {"accuracy": evaluation.accuracy, "test_loss": evaluation.loss}
        writer.scalars(_moment(zero, evaluation), evaluation.step, values)
    for point in attempt.points:
        if point.images is not None:
            writer.scalars(_moment(zero, point), point.images, {"over_images/loss": point.loss})
    for evaluation in attempt.evaluations:
        if evaluation.images is not None:
            values = {"over_images/accuracy": evaluation.accuracy}
            writer.scalars(_moment(zero, evaluation), evaluation.images, values)


def _moment(zero: float, point: LossPoint | EvaluationRecord) -> float:
    """A point's wall time; a step is a second where no seconds are known."""
    return zero + (point.step if math.isnan(point.seconds) else point.seconds)


def _text(path: Path, tag: str) -> str:
    for event in read_events(path):
        for value in event.summary.value:
            if value.tag == tag:
                return text_of(value)
    raise DocumentError(f"{path}: breaks off before its text {tag}", "export the sweep again")


def _read_trials(path: Path, sweep: ArchivedSweep, expected: Any, notes: list[str]) -> Iterator[ArchivedTrial]:
    found = 0
    others = 0
    for folder in sorted(path.iterdir()):
        file = folder / _FILE
        if mentions(file, TRIAL):
            found += 1
            yield read_trial(file, sweep, parse(file, _text(file, TRIAL)), points_of_columns)
        elif folder.is_dir() and event_files(folder):
            others += 1
    if isinstance(expected, int) and found != expected:
        notes.append(f"of the {expected} trials that were exported {found} have a run here")
    if others:
        notes.append(f"runs that sweeper has not written are left out: {others}")
