"""Numbers as answers give them: in words for people, and as JSON knows them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

# Beyond these an exponent is easier to read than the zeros.
_SMALLEST, _LARGEST = 1e-9, 1e12
_SMALLEST_MEASURE = 1e-4


def measure(value: float | None) -> str:
    """A measured number with five significant digits, an exponent below 0.0001; "-" where there is none."""
    if value is None or isinstance(value, int):
        return "-" if value is None else str(value)
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if not _SMALLEST_MEASURE <= abs(value) < _LARGEST:
        return f"{value:.4e}"
    return f"{value:.{max(0, 4 - math.floor(math.log10(abs(value))))}f}"


def dollars(value: float | None) -> str:
    """A sum of money in cents, with five significant digits where it is less than a dollar."""
    if value is None:
        return "-"
    return f"${value:.2f}" if value == 0 or value >= 1 else f"${measure(value)}"


class PassedNumber(float):
    """A number that a command gets: people see it as the program does, for example 1000.0 or 1e-05."""


def as_passed(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a command's trial, whose numbers are shown as they are passed."""
    return {name: PassedNumber(value) if isinstance(value, float) else value for name, value in parameters.items()}


def plain(value: Any) -> Any:
    """The value without a note on how it is shown."""
    return float(value) if isinstance(value, PassedNumber) else value


def parameter(value: Any) -> str:
    """A parameter as its owner would write it: 0.1, 0.00001, adam; "-" where there is none, "" in quotes."""
    if value == "":
        return '""'
    if (
        isinstance(value, float)
        and not isinstance(value, PassedNumber)
        and (value == 0 or _SMALLEST <= abs(value) < _LARGEST)
    ):
        return format(Decimal(f"{value:.10g}"), "f")
    return "-" if value is None else str(value)


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


def finite(value: Any) -> Any:
    """The same value with NaN and infinities replaced by None, at any depth."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
