"""Importing log files as the trials of a sweep: first read them all, then store them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweeper.errors import SpecError
from sweeper.interchange.logs.base import Keys
from sweeper.interchange.logs.log import LossLog, read_log
from sweeper.interchange.logs.time_origin import DecidedOrigin, decide_origin
from sweeper.interchange.parameters import trial_parameters
from sweeper.ranking.curve import CurveSummary, LossPoint, summarize
from sweeper.spec.sweep_name import LATEST, LONGEST, checked_name, is_unshown
from sweeper.store.store import Store


@dataclass(frozen=True)
class LoggedTrial:
    """One file: its curve from the origin of the import on, what is kept of it and told with its attempt, and the
    parameters it was trained with.
    """

    log: LossLog
    points: tuple[LossPoint, ...]
    summary: CurveSummary
    parameters: dict[str, Any]
    told: dict[str, Any]

    @property
    def source(self) -> str:
        """The file's path as text; bytes of it that are no UTF-8 are replaced, since no database takes them."""
        return _printable(self.log.path)


def read_trials(
    paths: Sequence[Path],
    assignments: Sequence[str] = (),
    pattern: str | None = None,
    format_name: str | None = None,
    keys: Keys | None = None,
    origin: str | None = None,
) -> tuple[list[LoggedTrial], DecidedOrigin]:
    """The trials in log files, in their order, and where their seconds begin.

    See `trial_parameters`, `read_log` and `decide_origin` for the arguments.

    Raises:
        SpecError: parameters that cannot be had.
        LogFormatError: the first file that holds no curve.
    """
    parameters = trial_parameters(paths, assignments, pattern)
    logs = [read_log(path, format_name, keys) for path in paths]
    decided = decide_origin(
        origin, ((_printable(log.path.name), [point.seconds for point in log.points]) for log in logs)
    )
    return [_logged(log, own, decided) for log, own in zip(logs, parameters, strict=True)], decided


def _logged(log: LossLog, parameters: dict[str, Any], origin: DecidedOrigin) -> LoggedTrial:
    points = origin.applied(log.points)
    return LoggedTrial(log, points, origin.ranked(summarize(points)), parameters, origin.told(log.points))


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
    curves = [(trial.parameters, trial.source, trial.points, trial.summary) for trial in trials]
    return store.sweeps.add_import(chosen, curves, [trial.told for trial in trials])


def shown_name(text: str) -> str:
    """A sweep's name from any text: what cannot be shown left out."""
    letters = "".join(letter for letter in _printable(text) if not is_unshown(letter))[:LONGEST].strip()
    return "imported" if letters in ("", LATEST) else letters


def _printable(path: Path | str) -> str:
    """A path as text that every encoder takes."""
    return os.fsencode(path).decode("utf-8", errors="replace")
