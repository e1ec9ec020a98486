"""TensorBoard's event files of any program: each folder that has some is a run, and all are one sweep."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeper.interchange.event_files import MARK, event_files, need_tensorboard, read_events, scalar
from sweeper.interchange.foreign.base import ForeignOptions
from sweeper.interchange.foreign.recorded import RecordedRun, Value, new_sweep, trials_of
from sweeper.interchange.formats.base import IncomingSweep

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
    for name, files in _run_files(path):
        run = _run(name, files, other)
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
    return RecordedRun(run.name, metrics, below.parameters, began=run.began, ended=run.ended)


def _run(name: str, files: Sequence[Path], other: dict[str, None]) -> RecordedRun:
    metrics: dict[str, list[Value]] = {}
    parameters: dict[str, Any] = {}
    moments: list[float] = []
    for file in files:
        for event in read_events(file):
            moments.append(event.wall_time)
            for value in event.summary.value:
                number = scalar(value)
                if number is not None and not _is_of_plugin(value, "hparams"):
                    metrics.setdefault(value.tag, []).append(Value(event.step, event.wall_time, number))
                elif _is_of_plugin(value, "hparams"):
                    parameters.update(_hyperparameters(value))
                else:
                    other[value.tag] = None
    ordered = {tag: sorted(values, key=lambda value: value.moment) for tag, values in metrics.items()}
    times = (min(moments), max(moments)) if moments else (None, None)
    return RecordedRun(name, ordered, parameters, began=times[0], ended=times[1])


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
