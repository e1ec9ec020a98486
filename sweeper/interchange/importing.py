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
from sweeper.interchange.parameters import trial_parameters
from sweeper.ranking.curve import CurveSummary, summarize
from sweeper.spec.sweep_name import LATEST, LONGEST, checked_name, is_unshown
from sweeper.store.store import Store


@dataclass(frozen=True)
class LoggedTrial:
    """One file: its curve, what is kept of it, and the parameters it was trained with."""

    log: LossLog
    summary: CurveSummary
    parameters: dict[str, Any]

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
) -> list[LoggedTrial]:
    """The trials in log files, in their order; see `trial_parameters` and `read_log` for the arguments.

    Raises:
        SpecError: parameters that cannot be had.
        LogFormatError: the first file that holds no curve.
    """
    parameters = trial_parameters(paths, assignments, pattern)
    logs = [read_log(path, format_name, keys) for path in paths]
    return [LoggedTrial(log, summarize(log.points), own) for log, own in zip(logs, parameters, strict=True)]


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
    return store.sweeps.add_import(chosen, [(t.parameters, t.source, t.log.points, t.summary) for t in trials])


def shown_name(text: str) -> str:
    """A sweep's name from any text: what cannot be shown left out."""
    letters = "".join(letter for letter in _printable(text) if not is_unshown(letter))[:LONGEST].strip()
    return "imported" if letters in ("", LATEST) else letters


def _printable(path: Path | str) -> str:
    """A path as text that every encoder takes."""
    return os.fsencode(path).decode("utf-8", errors="replace")
