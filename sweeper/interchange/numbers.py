"""Numbers as logs write them."""

from __future__ import annotations

import math


def parse_number(value: object) -> float:
    """The number in a text or in a value of JSON, NaN and infinities among them.

    Raises:
        ValueError: it is none; the message says so of the value.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return math.copysign(math.inf, value)
    # Python reads 1_000 as a number; a log that writes so means a name.
    if isinstance(value, str) and value.strip() and "_" not in value:
        try:
            return float(value)
        except ValueError:
            pass
    raise ValueError("is empty" if value in (None, "") else f"{shorten(value)} is no number")


def parse_seconds(value: object) -> float:
    """A finite number.

    Raises:
        ValueError: it is none; the message says so of the value.
    """
    seconds = parse_number(value)
    if not math.isfinite(seconds):
        raise ValueError(f"{shorten(value)} is not finite")
    return seconds


def parse_optional(value: object) -> float | None:
    """A number that a log need not have: None where it is missing or empty, NaN where it is no number."""
    if value is None or value == "":
        return None
    try:
        return parse_number(value)
    except ValueError:
        return math.nan


def whole_numbers(values: list[float | None], *, strictly: bool) -> list[int] | None:
    """The values as whole numbers from 0 up that rise (`strictly`, or stay); None where they do not."""
    whole: list[int] = []
    for value in values:
        # Beyond 2**53 a float no longer counts in ones.
        if value is None or not 0 <= value <= 2**53 or value != int(value):
            return None
        if whole and (value < whole[-1] or (strictly and value == whole[-1])):
            return None
        whole.append(int(value))
    return whole


def shorten(value: object) -> str:
    """A value for a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
