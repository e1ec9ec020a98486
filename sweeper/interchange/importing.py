"""Importing log files as the trials of a sweep: first read them all, then store them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweeper.errors import SpecError
from sweeper.interchange.known_names import is_parameter, own_parameters
from sweeper.interchange.logs.base import LogOptions
from sweeper.interchange.logs.log import LossLog, read_logs
from sweeper.interchange.logs.time_origin import DecidedOrigin, decide_origin
from sweeper.interchange.parameters import check_parameters, named_parameters, pairs_in_name
from sweeper.ranking.curve import CurveSummary, LossPoint, summarize
from sweeper.spec.sweep_name import LATEST, LONGEST, checked_name, is_unshown
from sweeper.store.store import Store


@dataclass(frozen=True)
class LoggedTrial:
    """One run: its curve from the origin of the import on, what is kept of it and told with its attempt, and the
    parameters it was trained with.
    """

    log: LossLog
    points: tuple[LossPoint, ...]
    summary: CurveSummary
    parameters: dict[str, Any]
    told: dict[str, Any]

    @property
    def source(self) -> str:
        """The file's path, and the run in it, as text; bytes of it that are not UTF-8 are replaced for the store."""
        path = _printable(self.log.path)
        source = f"{path}: {_printable(self.log.run)}" if self.log.run else path
        lost = len(self.log.lost)
        return f"{source}; {lost} of its lines could not be read" if lost else source


def read_trials(
    paths: Sequence[Path],
    assignments: Sequence[str] = (),
    pattern: str | None = None,
    format_name: str | None = None,
    options: LogOptions | None = None,
    origin: str | None = None,
) -> tuple[list[LoggedTrial], DecidedOrigin]:
    """The trials in log files, in their order, and where their seconds begin.

    See `named_parameters`, `read_logs` and `decide_origin` for the arguments. Of a file with several runs, parameters
    come from the runs' names and their columns.

    Raises:
        SpecError: parameters that cannot be had.
        LogFormatError: the first file that holds no curve.
    """
    options = options or LogOptions()
    check_parameters(assignments, pattern)
    logs = [log for path in paths for log in read_logs(path, format_name, options)]
    parameters = named_parameters(
        [f"{_printable(log.path)}: run {log.run}" if log.run else str(log.path) for log in logs],
        [log.name for log in logs],
        assignments,
        pattern,
        [_recorded(log) for log in logs],
    )
    _tell_apart(logs, parameters)
    decided = decide_origin(origin, ((_printable(log.name), [point.seconds for point in log.points]) for log in logs))
    return [_logged(log, own, decided) for log, own in zip(logs, parameters, strict=True)], decided


def notes_on_all(trials: Sequence[LoggedTrial]) -> list[str]:
    """What is to be said of an import as a whole: logs that do not compare."""
    counted = {trial.log.counts for trial in trials}
    notes = []
    if len(counted) > 1:
        notes.append(
            f"these logs count different things as steps ({', '.join(sorted(counted))}): do not rank over steps"
        )
    without = sum(not trial.log.seconds for trial in trials)
    if 0 < without < len(trials):
        notes.append(
            f"{without} of these {len(trials)} logs have no seconds: `sweeper best --over steps` ranks them all"
        )
    return notes


def _recorded(log: LossLog) -> dict[str, Any]:
    """Parameters that a run's name or the columns of its table tell."""
    if not log.run:
        return {}
    columns = {name: value for name, value in log.recorded.items() if value not in ("", None) and is_parameter(name)}
    return own_parameters({**columns, **pairs_in_name(log.run)})


def _tell_apart(logs: Sequence[LossLog], parameters: Sequence[dict[str, Any]]) -> None:
    """Give runs of one file their names as a parameter, where nothing else tells them apart."""
    for path in dict.fromkeys(log.path for log in logs if log.run):
        own = [(log, found) for log, found in zip(logs, parameters, strict=True) if log.path == path]
        if len({repr(sorted(found.items())) for _, found in own}) < len(own):
            for log, found in own:
                found.setdefault("run", _printable(log.run))


def _logged(log: LossLog, parameters: dict[str, Any], origin: DecidedOrigin) -> LoggedTrial:
    points = origin.applied(log.points, log.seconds)
    summary = origin.ranked(summarize(points))
    return LoggedTrial(log, points, summary, parameters, _told(log, origin.told(log.points)))


def _told(log: LossLog, origin: dict[str, Any]) -> dict[str, Any]:
    """What an attempt keeps of a log: its times' origin, its notes, and how many of its points were lost."""
    found = dict(origin.get("import", {}))
    if log.notes:
        found["notes"] = list(log.notes)
    if log.lost:
        found["lost_lines"] = len(log.lost)
    return {"import": found} if found else {}


def store_trials(store: Store, trials: Sequence[LoggedTrial], name: str | None = None) -> str:
    """Store read trials as one sweep, all or nothing; the name is the first file's without its suffix by default.

    Returns the sweep's id.

    Raises:
        SpecError: a name that no sweep may have.
        StoreError: the store refuses.
    """
    if name is not None:
        try:
            name = checked_name(_printable(name))
        except ValueError as error:
            raise SpecError([f"--name: {name!r} {error}"]) from None
    chosen = name or shown_name(_printable(trials[0].log.path.stem))
    over = "seconds" if any(trial.log.seconds for trial in trials) else "steps"
    if over == "steps" and all(trial.points[0].images is not None for trial in trials):
        over = "images"
    curves = [(trial.parameters, trial.source, trial.points, trial.summary) for trial in trials]
    return store.sweeps.add_import(chosen, curves, [trial.told for trial in trials], over)


def shown_name(text: str) -> str:
    """A sweep's name from any text: what cannot be shown left out."""
    letters = "".join(letter for letter in _printable(text) if not is_unshown(letter))[:LONGEST].strip()
    return "imported" if letters in ("", LATEST) else letters


def _printable(path: Path | str) -> str:
    """A path as text that every encoder takes."""
    return os.fsencode(path).decode("utf-8", errors="replace")
