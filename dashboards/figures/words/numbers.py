"""How figures write numbers and texts: what was measured, and the values of settings."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from sweeper.answers.numbers import parameter

_LONGEST = 24  # characters of a setting's value


def number(value: float, digits: int = 4) -> str:
    """A number with `digits` significant digits, without zeros at its end: 0.5, 12.35, 1368, 46.08k, 1.235M."""
    return _scaled(value, digits, "")


def measure(value: float) -> str:
    """A measured number with four significant digits, zeros among them: columns of them look equally exact."""
    return _scaled(value, 4, "#").replace(".k", "k").replace(".M", "M").replace(".G", "G").removesuffix(".")


def setting(value: Any, digits: int = 6) -> str:
    """A parameter's value: whole numbers in full, other numbers with `digits` significant digits, names shortened."""
    if value is None:
        return "–"
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value)) if value.is_integer() and abs(value) < 1e9 else _short_exponent(f"{value:.{digits}g}")
    text = printable(str(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def settings(values: Sequence[Any]) -> list[str]:
    """Texts of parameter values with as few digits (three or more) as keep different values apart."""
    distinct = len(set(values))
    texts = [setting(value, 3) for value in values]
    for digits in range(4, 18):
        if len(set(texts)) >= distinct:
            break
        texts = [setting(value, digits) for value in values]
    return texts


def parameter_words(value: Any) -> str:
    """A parameter's value as its owner would write it; a dash where there is none."""
    return "–" if value is None else parameter(value)


def printable(text: str) -> str:
    """The text on one line, without characters that have no shape (SVG allows no control characters)."""
    return " ".join("".join(c if c.isprintable() or c.isspace() else "\ufffd" for c in text).split())


def _scaled(value: float, digits: int, zeros: str) -> str:
    if not math.isfinite(value):
        return str(value)
    rounded = float(f"{value:.{digits}g}")
    factor, suffix = thousands(rounded)
    if abs(rounded) < 1e12 and factor > 1:
        return f"{rounded / factor:{zeros}.{digits}g}{suffix}"
    return _short_exponent(f"{rounded:{zeros}.{max(digits, 4)}g}")


def thousands(value: float) -> tuple[float, str]:
    """What to divide by and to write behind, from 10,000 on."""
    for factor, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(factor, 1e4):
            return factor, suffix
    return 1.0, ""


def _short_exponent(text: str) -> str:
    return re.sub(r"e([+-])0*(\d)", lambda found: f"e{found[1].replace('+', '')}{found[2]}", text)
