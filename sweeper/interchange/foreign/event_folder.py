"""TensorBoard's event files of any program: each folder that has some is a run, and all are one sweep."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeper.interchange.event_files import (
    MARK,
    breaks_off_at,
    event_files,
    need_tensorboard,
    read_events,
    scalar,
)
from sweeper.interchange.foreign.base import ForeignOptions
from sweeper.interchange.foreign.recorded import RecordedRun, Value, new_sweep, trials_of
from sweeper.interchange.formats.base import IncomingSweep
from sweeper.interchange.known_names import accuracy_name
from sweeper.interchange.logs.column_names import find_name, is_of_evaluation, is_of_training

if TYPE_CHECKING:
    from tensorboard.compat.proto.summary_pb2 import Summary


class EventFolderReader:
    """Reads scalars by tag, and hyperparameters; a single event file is a run, too."""

    name = "tensorboard-runs"

    def recognizes(self, path: Path) -> bool:
        """Whether it is an event file, or a folder with some in it or below."""
        if path.is_dir():
            return any(MARK in name for _, _, names in os.walk(path) for name in names)
        return MARK in path.name and path.is_file()

    def read(self, path: Path, options: ForeignOptions) -> Iterator[IncomingSweep]:
        """One sweep, called like the folder."""
        need_tensorboard()
        sweep = new_sweep(path.absolute().name)
        notes: list[str] = []
        yield IncomingSweep(sweep, trials_of(sweep, path, _runs(path, notes), options, notes), notes)


def _runs(path: Path, notes: list[str]) -> Iterator[RecordedRun]:
    other: dict[str, None] = {}
    waiting: RecordedRun | None = None
    for name, files, evaluations in _with_evaluations(list(_run_files(path))):
        run = _run(name, files, other)
        for leaf, evaluated in evaluations:
            run = _evaluated(run, leaf, _run(leaf, evaluated, other))
        # torch's writer puts hyperparameters, and the metrics that go with them, into a run below.
        if waiting is not None and run.parameters and name.startswith(f"{waiting.name}/") and not waiting.parameters:
            waiting = _joined(waiting, run)
            continue
        if waiting is not None:
            yield waiting
        waiting = run
    if waiting is not None:
        yield waiting
    if other:
        notes.append(f"what is neither scalar nor hyperparameter is left out: {', '.join(other)}")


_Files = tuple[str, list[Path]]


def _with_evaluations(runs: Sequence[_Files]) -> Iterator[tuple[str, list[Path], list[_Files]]]:
    """The runs, each with those beside or below it that a writer for validation or test has made.

    Keras writes into `train` and `validation`: the two are one run, called like the folder that they are in.
    """
    whole = runs[0][1][0].parent.absolute().name if runs else ""
    by_parent: dict[str, list[_Files]] = {}
    for name, files in runs:
        by_parent.setdefault(name.rpartition("/")[0], []).append((name, files))
    names = {name for name, _ in runs}
    used: set[str] = set()
    for parent, siblings in by_parent.items():
        training = [name for name, _ in siblings if is_of_training(_leaf(name))]
        if len(training) == 1 or parent in names:
            used |= {name for name, _ in siblings if is_of_evaluation(_leaf(name))}
        used |= {name for name, _ in siblings if _without_evaluation(name) in names}
    for name, files in runs:
        if name in used:
            continue
        parent = name.rpartition("/")[0]
        pair = is_of_training(_leaf(name)) and [one for one in by_parent[parent] if one[0] in used]
        below = [one for one in by_parent.get(name, ()) if one[0] in used]
        beside = [one for one in by_parent[parent] if _without_evaluation(one[0]) == name]
        found = [(_leaf(one), theirs) for one, theirs in (*(pair or below), *beside)]
        yield (parent or _above(files, whole)) if pair else name, files, found


def _without_evaluation(name: str) -> str | None:
    """The name of the run that `run1_eval` or `val-run1` has evaluated, by its own; None for other names."""
    parent, slash, leaf = name.rpartition("/")
    words = [word for word in re.split(r"([_\-.])", leaf) if word]
    kept = [word for word in words if not is_of_evaluation(word)]
    if len(kept) == len(words) or not any(word.isalnum() for word in kept):
        return None
    return f"{parent}{slash}{''.join(kept).strip('_-.')}"


def _leaf(name: str) -> str:
    return name.rpartition("/")[2]


def _above(files: Sequence[Path], otherwise: str) -> str:
    return files[0].parent.parent.absolute().name or otherwise


def _evaluated(run: RecordedRun, leaf: str, evaluation: RecordedRun) -> RecordedRun:
    """A run with the metrics of an evaluation, by names that tell so."""
    accuracy, loss = accuracy_name(evaluation.metrics), find_name("loss", evaluation.metrics)
    of = "test" if "test" in leaf.casefold() else "validation"
    names = {loss: f"{of}_loss", accuracy: f"{of}_accuracy"}
    theirs = {names.get(name) or f"{leaf}_{name}": values for name, values in evaluation.metrics.items()}
    damage = "; ".join(filter(None, (run.damage, evaluation.damage)))
    return replace(run, metrics={**theirs, **run.metrics}, damage=damage)


def _run_files(path: Path) -> Iterator[tuple[str, list[Path]]]:
    if path.is_file():
        yield path.parent.absolute().name, [path]
        return
    for folder, below, _ in os.walk(path):
        below.sort()
        files = event_files(Path(folder))
        if files:
            relative = Path(folder).relative_to(path).as_posix()
            yield (path.absolute().name if relative == "." else relative), files


def _joined(run: RecordedRun, below: RecordedRun) -> RecordedRun:
    metrics = {**{f"{name} (hyperparameters)": values for name, values in below.metrics.items()}, **run.metrics}
    return replace(run, metrics=metrics, parameters=below.parameters)


def _run(name: str, files: Sequence[Path], other: dict[str, None]) -> RecordedRun:
    """A run of one or more files, each of them a session, in the order in which they were begun."""
    metrics: dict[str, list[Value]] = {}
    parameters: dict[str, Any] = {}
    damage: list[str] = []
    sessions = [(file, list(read_events(file))) for file in files]
    damage = [_damage(file, len(events)) for file, events in sessions]
    sessions = sorted((one for one in sessions if one[1]), key=lambda one: one[1][0].wall_time)
    for part, (_, events) in enumerate(sessions):
        for event in events:
            for value in event.summary.value:
                number = scalar(value)
                if number is not None and not _is_of_plugin(value, "hparams"):
                    metrics.setdefault(value.tag, []).append(Value(event.step, event.wall_time, number, part))
                elif _is_of_plugin(value, "hparams"):
                    parameters.update(_hyperparameters(value))
                else:
                    other[value.tag] = None
    starts = [events[0].wall_time for _, events in sessions]
    ended = max((event.wall_time for _, events in sessions for event in events), default=None)
    overlap = any(
        after[1][0].wall_time < max(event.wall_time for event in before[1]) for before, after in pairwise(sessions)
    )
    damage += ["its files overlap in time: where both have a step, the later file's value counts"] if overlap else []
    told = "; ".join(filter(None, damage))
    return RecordedRun(
        name, metrics, parameters, began=starts[0] if starts else None, ended=ended, starts=starts, damage=told
    )


def _damage(file: Path, events: int) -> str:
    byte = breaks_off_at(file, events)
    return "" if byte is None else f"{file.name} breaks off at byte {byte} of {file.stat().st_size}"


def _is_of_plugin(value: Summary.Value, plugin: str) -> bool:
    return bool(value.metadata.plugin_data.plugin_name == plugin)


def _hyperparameters(value: Summary.Value) -> dict[str, Any]:
    from tensorboard.plugins.hparams import metadata
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    if value.tag != metadata.SESSION_START_INFO_TAG:
        return {}
    content = HParamsPluginData.FromString(value.metadata.plugin_data.content)
    found = {name: getattr(one, one.WhichOneof("kind")) for name, one in content.session_start_info.hparams.items()}
    # JSON's numbers have no whole ones.
    return {
        name: int(one) if isinstance(one, float) and one.is_integer() else one for name, one in sorted(found.items())
    }
