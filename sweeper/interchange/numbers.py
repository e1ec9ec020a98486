"""Numbers as logs write them, decimal commas and thousands separators among them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

_BLANKS = " \u00a0\u2009\u202f"  # plain, no-break, thin and narrow no-break
_GROUPED = re.compile(
    rf"[+\u2212-]?\d{{1,3}}(?:(?P<mark>[,.'’{_BLANKS}])\d{{3}})(?:(?P=mark)\d{{3}})*(?P<rest>[.,]\d*)?"
)
_SINGLE = re.compile(r"[+\u2212-]?(?P<whole>\d*)(?P<mark>[.,])(?P<part>\d*)(?P<exponent>[eE][+-]?\d+)?")
_NUMBER_LIKE = re.compile(
    rf"[+\u2212-]?(?:\d[\d.,'’{_BLANKS}]*|[.,]\d+)(?:[eE][+-]?\d+)?|[+-]?(?:nan|inf(?:inity)?)", re.IGNORECASE
)


@dataclass(frozen=True)
class NumberStyle:
    """How a file writes numbers: its decimal mark, "." or ","; the other one may separate thousands."""

    decimal: str = "."

    def plain(self, text: str) -> str:
        """A number as Python writes it; any other text as it is."""
        text = text.replace("\u2212", "-")  # the minus sign of mathematics
        found = _GROUPED.fullmatch(text)
        if found and found["mark"] != self.decimal and not (found["rest"] or "").startswith(found["mark"]):
            text = text.replace(found["mark"], "")
        elif "," in text and self.decimal == ".":
            return f"{text}?"  # the comma is no decimal mark, nor does it separate thousands
        if self.decimal == ",":
            if "." in text:
                return f"{text}?"
            text = text.replace(",", ".", 1)
        return text


PLAIN = NumberStyle()
UNCLEAR = " ?"  # what readers add to digits that may be one number or two


@dataclass(frozen=True)
class StyleEvidence:
    """What the numbers of a file show of their decimal mark: a number for each that shows it, or leaves it open."""

    point: str | None = None
    comma: str | None = None
    open: str | None = None

    @property
    def style(self) -> NumberStyle | None:
        """The style; None where numbers contradict each other, or one of them may mean two things."""
        if self.point and self.comma:
            return None
        if self.comma:
            return NumberStyle(",")
        return PLAIN if self.point or not self.open else None


def style_evidence(texts: Iterable[str]) -> StyleEvidence:
    """What the numbers among some texts show."""
    point = comma = either = None
    for text in texts:
        mark = _decimal_mark(text.strip())
        if mark == ".":
            point = point or text
        elif mark == ",":
            comma = comma or text
        elif mark == "?":
            either = either or text
    return StyleEvidence(point, comma, either)


def _decimal_mark(text: str) -> str:
    """The decimal mark that a number shows: "." or ","; "?" where a comma may be either; empty where it shows none."""
    single = _SINGLE.fullmatch(text)
    if single:
        whole, part, mark = single["whole"], single["part"], single["mark"]
        groups = len(part) == 3 and 1 <= len(whole) <= 3 and not whole.startswith("0") and not single["exponent"]
        return ("?" if mark == "," else "") if groups else mark
    grouped = _GROUPED.fullmatch(text)
    if not grouped:
        return ""
    rest, mark = grouped["rest"], grouped["mark"]
    if rest:
        return rest[0] if rest[0] != mark else ""
    return {",": ".", ".": ","}.get(mark, "")


def is_number_like(text: str) -> bool:
    """Whether a text is a number in one style or another."""
    return _NUMBER_LIKE.fullmatch(text.strip()) is not None


def parse_number(value: object, style: NumberStyle = PLAIN) -> float:
    """The number in a text or in a value of JSON, NaN and infinities among them.

    Raises:
        ValueError: it is none; the message says so of the value.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return math.copysign(math.inf, value)
    if isinstance(value, str) and value.endswith(UNCLEAR):
        raise ValueError(f"{shorten(value.removesuffix(UNCLEAR))} may be one number or two")
    # Python reads 1_000 as a number; a log that writes so means a name.
    if isinstance(value, str) and value.strip() and "_" not in value:
        try:
            return float(style.plain(value.strip()))
        except ValueError:
            pass
    raise ValueError("is empty" if value in (None, "") else f"{shorten(value)} is not a number")


def parse_exact(value: object, style: NumberStyle = PLAIN) -> Decimal:
    """A finite number, to the last digit that is written.

    Raises:
        ValueError: it is none; the message says so of the value.
    """
    number = parse_number(value, style)
    if not math.isfinite(number):
        raise ValueError(f"{shorten(value)} is not finite")
    return Decimal(style.plain(value.strip())) if isinstance(value, str) else Decimal(repr(value))


def parse_optional(value: object, style: NumberStyle = PLAIN) -> float | None:
    """A number that a log need not have: None where it is missing or empty, NaN where it is no number."""
    if value is None or value == "":
        return None
    try:
        return parse_number(value, style)
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
