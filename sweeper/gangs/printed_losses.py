"""Losses that a program prints for people: the lines that fit the patterns of a spec, as reports."""

from __future__ import annotations

import re
from typing import Any

from sweeper.spec.command import ReportPatterns

_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")


class PrintedLosses:
    """Makes reports of lines. Steps and images may stand on lines before that of their loss.

    A loss at the same step or images as the one before is passed over: a progress bar draws its line many times.
    """

    def __init__(self, patterns: ReportPatterns) -> None:
        self._loss = re.compile(patterns.loss)
        written = {"step": patterns.step, "images": patterns.images}
        self._counts = {name: re.compile(pattern) for name, pattern in written.items() if pattern}
        self._seen: dict[str, str] = {}
        self._last: dict[str, str] = {}

    def report(self, line: str) -> dict[str, Any] | None:
        """What a line says, as `sweeper.report` would have; None where it has no loss, or none that is new."""
        for name, pattern in self._counts.items():
            if found := pattern.search(line):
                self._seen[name] = _without_separators(found[1])
        loss = self._loss.search(line)
        if loss is None or (self._counts and self._seen == self._last):
            return None
        self._last = dict(self._seen)
        return {"loss": loss[1], **self._seen}


def _without_separators(text: str) -> str:
    """A count without the commas between its thousands."""
    return text.replace(",", "") if _THOUSANDS.fullmatch(text) else text
