"""Durations for people."""

from __future__ import annotations

import math


def duration(seconds: float | None) -> str:
    """Like "45 s", "3 min", "2 h 10 min", "3 d 4 h"; a dash for what is unknown."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"
