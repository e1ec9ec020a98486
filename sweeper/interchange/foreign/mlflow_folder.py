"""MLflow's folder of files, `mlruns`: an experiment is a sweep, a run a trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from sweeper.errors import DocumentError, LogFormatError
from sweeper.interchange.foreign.base import ForeignOptions
from sweeper.interchange.foreign.mlflow_store import mlflow_run, mlflow_value
from sweeper.interchange.foreign.recorded import RecordedRun, Value, new_sweep, trials_of
from sweeper.interchange.formats.base import IncomingSweep
from sweeper.interchange.logs.column_names import find_name

_META = "meta.yaml"
_STATES = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}


class MlflowFolderReader:
    """Reads runs, params, metrics and tags; changes nothing. The path may also be that of one experiment."""

    name = "mlflow-files"

    def recognizes(self, path: Path) -> bool:
        """Whether it has the files of experiments."""
        return path.is_dir() and any(True for _ in _experiment_folders(path))

    def read(self, path: Path, options: ForeignOptions) -> Iterator[IncomingSweep]:
        """A sweep for each experiment that has losses."""
        chosen = _chosen(path, options.experiments)
        ready = [one for one in chosen if find_name("loss", _metric_names(one), options.keys.loss)]
        left_out = [one.name for one in chosen if one not in ready and one.runs]
        if not ready:
            raise _no_losses(path, chosen)
        for index, experiment in enumerate(ready):
            notes = [f"experiments without such a loss are left out: {', '.join(left_out)}"] if left_out else []
            notes = [] if index else notes
            deleted = sum(_meta(run).get("lifecycle_stage") == "deleted" for run in experiment.runs)
            if deleted:
                notes.append(f"runs that were deleted in MLflow are left out: {deleted}")
            sweep = new_sweep(experiment.name)
            yield IncomingSweep(sweep, trials_of(sweep, path, _runs(experiment), options, notes), notes)


@dataclass(frozen=True)
class _Experiment:
    id: str
    name: str
    runs: tuple[Path, ...]


def _experiment_folders(path: Path) -> Iterator[Path]:
    for folder in (path, *sorted(one for one in path.iterdir() if one.is_dir() and not one.name.startswith("."))):
        if "experiment_id" in _meta(folder) and "run_id" not in _meta(folder):
            yield folder


def _meta(folder: Path) -> dict[str, Any]:
    """What an experiment's or a run's own file says; empty where there is none."""
    try:
        found = YAML(typ="safe", pure=True).load((folder / _META).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError):
        return {}
    return found if isinstance(found, dict) else {}


def _chosen(path: Path, wanted: Sequence[str]) -> list[_Experiment]:
    known = []
    for folder in _experiment_folders(path):
        meta = _meta(folder)
        runs = tuple(sorted(one.parent for one in folder.glob(f"*/{_META}")))
        if meta.get("lifecycle_stage", "active") == "active":
            known.append(_Experiment(str(meta["experiment_id"]), str(meta.get("name", folder.name)), runs))
    for word in wanted:
        if not any(word in (one.name, one.id) for one in known):
            names = ", ".join(one.name for one in known)
            raise DocumentError(f"{path}: has no experiment {word!r}", f"choose one of {names}")
    return [one for one in known if not wanted or {one.name, one.id} & set(wanted)]


def _metric_names(experiment: _Experiment) -> list[str]:
    names = {name for run in experiment.runs for name, _ in _files(run / "metrics")}
    return sorted(names)


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Names and files of a run's metrics, params or tags: a name with slashes is a path."""
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            yield file.relative_to(folder).as_posix(), file


def _no_losses(path: Path, experiments: Sequence[_Experiment]) -> LogFormatError:
    names = dict.fromkeys(name for one in experiments for name in _metric_names(one))
    if not names:
        return LogFormatError(f"{path}: none of its runs has values over time", "name a store that has")
    return LogFormatError(
        f"{path}: no run has a metric for the loss; there are {', '.join(names)}", "choose among these with --loss NAME"
    )


def _runs(experiment: _Experiment) -> Iterator[RecordedRun]:
    known = [(folder, _meta(folder)) for folder in experiment.runs]
    for folder, meta in sorted(known, key=lambda one: (one[1].get("start_time") or 0, one[0].name)):
        if meta.get("lifecycle_stage", "active") != "active":
            continue
        tags = _texts(folder / "tags")
        name = meta.get("run_name") or tags.get("mlflow.runName") or folder.name
        status = _STATES.get(meta.get("status", 0), str(meta.get("status")))
        told = {"run": folder.name, "status": status, "user": meta.get("user_id"), "tags": tags}
        told["artifacts"] = meta.get("artifact_uri")
        read = {metric: _values(file) for metric, file in _files(folder / "metrics")}
        metrics = {metric: values for metric, (values, _) in read.items()}
        lost = [f"{count} line{'s' if count > 1 else ''} of its metric {m}" for m, (_, count) in read.items() if count]
        times = (meta.get("start_time"), meta.get("end_time"))
        run = mlflow_run(str(name), told, times, metrics, _texts(folder / "params"))
        yield replace(run, damage=f"{', '.join(lost)} could not be read") if lost else run


def _texts(folder: Path) -> dict[str, str]:
    return {name: file.read_text(encoding="utf-8", errors="replace") for name, file in _files(folder)}


def _values(file: Path) -> tuple[list[Value], int]:
    """The values in a metric's file, as they were recorded, and how many lines could not be read.

    A line is `timestamp value step`, the time in milliseconds since 1970. A last one without a line end is cut off.
    """
    found, lost = [], 0
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
        try:
            moment, value, step = line.split()[:3]
            whole = Value(int(step), int(moment) / 1000, mlflow_value(float(value)))
        except ValueError:
            lost += bool(line.strip())
            continue
        if line.endswith("\n"):
            found.append(whole)
        else:
            lost += 1
    return found, lost
