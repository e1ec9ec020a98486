"""Durations for people."""

from __future__ import annotations

import math


def duration(seconds: float | None) -> str:
    """As in "850 ms", "12.3 s", "4 min 05 s", "3 h 02 min", "5 d 03 h"; a dash for what is unknown."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    if 0 < seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours < 72 else f"{hours // 24} d {hours % 24:02d} h"


def about(seconds: float | None) -> str:
    """The same of an estimate, whose last digits mean nothing."""
    if seconds is None or not math.isfinite(seconds) or seconds >= 100:
        return duration(seconds)
    return f"{seconds:.0f} s"
