"""Times as logs write them: numbers, amounts with units, clocks and dates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum

from sweeper.interchange.numbers import PLAIN, NumberStyle, parse_exact, shorten

# Seconds in each unit that `--time-unit` knows.
UNITS: dict[str, Decimal] = {
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "min": Decimal(60),
    "h": Decimal(3600),
}
_SPELLINGS = {
    **{unit: unit for unit in UNITS},
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("µs", "μs", "usec", "microseconds"), "us"),
    **dict.fromkeys(("msec", "millisecond", "milliseconds"), "ms"),
}
_AMOUNT = re.compile(r"([+-]?[\d.,'’]*\d\.?(?:[eE][+-]?\d+)?)\s*([^\W\d_]+)(/[^\W\d_]+)?\s*")
_CLOCK = re.compile(r"(?:(\d+)\s*(?:d|days?),?\s+)?(?:(\d+):)?(\d+):(\d{2}(?:[.,]\d+)?)")
_DATE = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:[T ].*)?")
# Between 2000 and 2100, counted from 1970 in each unit; no training lasts as long as that.
_FIRST_CLOCK, _LAST_CLOCK = Decimal(946_684_800), Decimal(4_102_444_800)
_EPOCH = datetime(1970, 1, 1)


class TimeKind(Enum):
    """How a time was written."""

    NUMBER = "a number"
    AMOUNT = "an amount with its unit"
    CLOCK = "hours, minutes and seconds"
    DATE = "a date"
    DAY = "a date without a time of day"
    ZONED = "a date with its time zone"
    RATE = "seconds of each step"


@dataclass(frozen=True)
class Moment:
    """A time: `seconds` exactly, but for a NUMBER, whose unit its file has to tell."""

    seconds: Decimal
    kind: TimeKind

    @property
    def absolute(self) -> bool:
        """Whether it is a point in time rather than a duration."""
        return self.kind in (TimeKind.DATE, TimeKind.DAY, TimeKind.ZONED)


def parse_time(value: object, style: NumberStyle = PLAIN) -> Moment:
    """The time in a text or in a number of JSON.

    `00:18` is minutes and seconds, `00:01:30` hours, minutes and seconds; dates are ISO 8601's.

    Raises:
        ValueError: it is none; the message says so of the value.
    """
    text = value.strip() if isinstance(value, str) else ""
    if _DATE.fullmatch(text):
        return _date(text)
    if clock := _CLOCK.fullmatch(text):
        return _clock(clock, text)
    if text and text[-1:].isalpha() and text[:1] in "+-.,0123456789":
        return _amount(text, style)
    try:
        return Moment(parse_exact(value, style), TimeKind.NUMBER)
    except ValueError as error:
        raise ValueError(str(error).replace("not a number", "neither a number nor a time")) from None


def unit_of(moments: Sequence[Moment]) -> str | None:
    """The unit of numbers that are times of a clock, told by their size; "s" for small numbers, None for others."""
    largest, smallest = max(one.seconds for one in moments), min(one.seconds for one in moments)
    for unit in ("s", "ms", "us", "ns"):
        if smallest * UNITS[unit] >= _FIRST_CLOCK and largest * UNITS[unit] <= _LAST_CLOCK:
            return unit
    return "s" if largest < _LAST_CLOCK else None


def in_unit(moment: Moment, unit: str) -> Moment:
    """A number as seconds; others have their own unit."""
    return replace(moment, seconds=moment.seconds * UNITS[unit]) if moment.kind is TimeKind.NUMBER else moment


def _date(text: str) -> Moment:
    try:
        found = datetime.fromisoformat(text.replace("/", "-"))
    except ValueError:
        raise ValueError(f"{shorten(text)} is not a date") from None
    kind = TimeKind.DAY if ":" not in text else TimeKind.DATE if found.tzinfo is None else TimeKind.ZONED
    since: timedelta = (found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found) - _EPOCH
    return Moment(Decimal(since // timedelta(microseconds=1)) / 1_000_000, kind)


def _clock(found: re.Match[str], text: str) -> Moment:
    days, hours, minutes, seconds = found.groups()
    last = Decimal(seconds.replace(",", "."))
    if last >= 60 or ((hours or days) and int(minutes) >= 60):
        raise ValueError(f"{shorten(text)} is not a time")
    whole = (int(days or 0) * 24 + int(hours or 0)) * 3600 + int(minutes) * 60
    return Moment(whole + last, TimeKind.CLOCK)


def _amount(text: str, style: NumberStyle) -> Moment:
    total, position, rate = Decimal(0), 0, False
    for found in _AMOUNT.finditer(text):
        unit = _SPELLINGS.get(found[2].casefold())
        if found.start() != position or unit is None or (rate and found[3]):
            break
        total += parse_exact(found[1], style) * UNITS[unit]
        position, rate = found.end(), bool(found[3])
    if position != len(text):
        raise ValueError(f"{shorten(text)} is neither a number nor a time") from None
    return Moment(total, TimeKind.RATE if rate else TimeKind.AMOUNT)
