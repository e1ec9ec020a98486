"""What a user's program reports, made into points that can be stored."""

from __future__ import annotations

import math
import time
from typing import Any

from engine.protocol import Point
from sweeper.ranking.time_origin import CLOCK_SECONDS

_MOST = 2**53  # beyond which whole numbers are not all told apart


class Reports:
    """The points of one curve: in order, with all numbers in their range."""

    def __init__(self, trial: str) -> None:
        self._trial = trial
        self._begun, self._started = time.monotonic(), False
        self.last: Point | None = None
        self._images = 0
        self.diverged = False
        self._unread, self._first_unread = 0, ""

    def miss(self, text: str) -> None:
        """There was a report that could not be read."""
        self._first_unread = self._first_unread or text
        self._unread += 1

    def unread_words(self) -> str:
        """How many reports could not be read, with the first of them and the remedy; "" where all could."""
        if not self._unread:
            return ""
        many = "1 report" if self._unread == 1 else f"{self._unread} reports"
        example = f"{'' if self._unread == 1 else 'for example '}{self._first_unread!r}"
        return f"{many} could not be read, {example}; print each report in one piece, as JSON on a line of its own"

    def begin(self) -> None:
        """Rank 0 runs: its clock does, unless the program has said that it starts now."""
        if not self._started:
            self._begun = time.monotonic()

    def point(self, report: dict[str, Any], came: float) -> Point | None:
        """The next point, from a report that came at that time of time.monotonic.

        None for the word that training starts, and for what follows a divergence.

        Raises:
            ValueError: the report is no point that can follow the last one.
        """
        if report.get("started"):
            self._begun, self._started = came, True
            return None
        if self.diverged:
            return None
        before = self.last or Point(self._trial, -1, None, 0.0, 0.0)
        step = self._whole(report, "step", max(before.step, 0) + 1)
        if step is None or step <= before.step:
            raise ValueError(f"reported step {step} after step {before.step}; count steps over the whole run")
        seconds = self._number(report, "seconds", max(came - self._begun, before.seconds))
        if not before.seconds <= seconds < math.inf:
            raise ValueError(f"reported seconds {seconds} after {before.seconds}; they count from the start on")
        if seconds >= CLOCK_SECONDS:
            raise ValueError(
                f"reported seconds {seconds:.10g}, the time of a clock; count from the start of training on"
            )
        images = self._whole(report, "images", None)
        if images is not None and images <= self._images and self.last:
            raise ValueError(f"reported images {images} after {self._images}; count those of all workers over the run")
        self._images = max(self._images, images or 0)
        self.last = Point(self._trial, step, images, seconds, self._number(report, "loss", None))
        self.diverged = not math.isfinite(self.last.loss)
        return self.last

    def _whole(self, report: dict[str, Any], name: str, otherwise: int | None) -> int | None:
        given = report.get(name)
        if given is None:
            return otherwise
        value = self._number(report, name, None)
        if value != int(value if math.isfinite(value) else -1) or not 0 <= value < _MOST:
            raise ValueError(f"reported {name} {given!r}, which is no whole number from 0 up")
        return int(value)

    def _number(self, report: dict[str, Any], name: str, otherwise: float | None) -> float:
        given = report.get(name, otherwise)
        try:
            return float(given)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"reported {name} {given!r}, which is no number") from None
