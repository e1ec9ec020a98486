"""Losses that a program prints for people: the lines that fit the patterns of a spec, as reports."""

from __future__ import annotations

import re

from sweeper.spec.command import ReportPatterns

_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_AFTER_A_NUMBER = ",;:"  # which a pattern such as (\S+) takes along


class PrintedLosses:
    """Makes reports of lines. Steps and images may stand on lines before that of their loss.

    Losses before the first step or images that a pattern is to find are passed over. So is a loss at the same step and
    images as the one before: a progress bar draws its line many times.
    """

    def __init__(self, patterns: ReportPatterns) -> None:
        written = {name: pattern for name, pattern in patterns if pattern}
        self._patterns = {name: re.compile(pattern) for name, pattern in written.items()}
        self._seen: dict[str, str] = {}  # steps and images, the latest
        self._last: dict[str, str] = {}  # those of the last report
        self._unmatched = dict(written)

    @property
    def unmatched(self) -> dict[str, str]:
        """The patterns, by name, that no line has fitted so far."""
        return self._unmatched

    def report(self, line: str) -> dict[str, str] | None:
        """What a line says, as `sweeper.report` would have; None where it has no loss, or none that is new."""
        found = {name: number for name, pattern in self._patterns.items() if (number := _number(pattern, line))}
        for name in found:
            self._unmatched.pop(name, None)
        loss = found.pop("loss", None)
        self._seen |= found
        counts = len(self._patterns) - 1
        if loss is None or len(self._seen) < counts or (counts and self._seen == self._last):
            return None
        self._last = dict(self._seen)
        return {"loss": loss, **self._seen}


def _number(pattern: re.Pattern[str], line: str) -> str:
    """The number that a pattern finds, without the commas between its thousands; "" where it finds none."""
    found = pattern.search(line)
    text = (found[1] or "").rstrip(_AFTER_A_NUMBER) if found else ""
    return text.replace(",", "") if _THOUSANDS.fullmatch(text) else text
