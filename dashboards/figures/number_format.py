"""How figures write numbers: measured ones, those of settings, and those along an axis."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from matplotlib.ticker import Formatter

from dashboards.figures.text import printable

_LONGEST = 24  # characters of a setting's value


class AxisNumbers(Formatter):
    """Numbers along an axis, all with as many decimals as the one that needs most of them.

    Those of a logarithmic axis over more than a few hundredfold are written each by itself.
    """

    def __call__(self, x: float, pos: int | None = None) -> str:  # noqa: ARG002 - matplotlib's signature
        """One number by itself."""
        return number(x)

    def format_ticks(self, values: Iterable[float]) -> list[str]:
        """All numbers of the axis."""
        ticks = [float(value) for value in values]
        largest = max(map(abs, ticks), default=0.0)
        ticks = _without_rounding(ticks, largest)
        if largest > 500 * min((abs(tick) for tick in ticks if tick), default=largest):
            return [number(tick) for tick in ticks]
        factor, suffix = _thousands(largest)
        for decimals in range(5):
            texts = [f"{tick / factor:.{decimals}f}" for tick in ticks]
            if all(abs(float(t) * factor - tick) <= 1e-9 * largest for t, tick in zip(texts, ticks, strict=True)):
                return [text + suffix if tick or not suffix else "0" for text, tick in zip(texts, ticks, strict=True)]
        return [number(tick) for tick in ticks]


def _without_rounding(ticks: list[float], largest: float) -> list[float]:
    """What rounding has left of a zero is zero: far smaller than all others, as no tick of a logarithmic axis is."""
    sizes = sorted(abs(tick) for tick in ticks if tick)
    next_size = dict(pairwise(sizes))
    return [
        0.0 if abs(tick) < 1e-9 * largest and next_size.get(abs(tick), 0.0) > 1e6 * abs(tick) else tick
        for tick in ticks
    ]


def number(value: float, digits: int = 4) -> str:
    """A number with `digits` significant digits, without zeros at its end: 0.5, 12.35, 1368, 46.08k, 1.235M."""
    return _scaled(value, digits, "")


def measure(value: float) -> str:
    """A measured number with four significant digits, zeros among them: columns of them look equally exact."""
    return _scaled(value, 4, "#").replace(".k", "k").replace(".M", "M").replace(".G", "G").removesuffix(".")


def setting(value: Any, digits: int = 6) -> str:
    """A parameter's value: whole numbers in full, other numbers with `digits` significant digits, names shortened."""
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


def _scaled(value: float, digits: int, zeros: str) -> str:
    if not math.isfinite(value):
        return str(value)
    rounded = float(f"{value:.{digits}g}")
    factor, suffix = _thousands(rounded)
    if abs(rounded) < 1e12 and factor > 1:
        return f"{rounded / factor:{zeros}.{digits}g}{suffix}"
    return _short_exponent(f"{rounded:{zeros}.{max(digits, 4)}g}")


def _thousands(value: float) -> tuple[float, str]:
    """What to divide by and to write behind, from 10,000 on."""
    for factor, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(factor, 1e4):
            return factor, suffix
    return 1.0, ""


def _short_exponent(text: str) -> str:
    return re.sub(r"e([+-])0*(\d)", lambda found: f"e{found[1].replace('+', '')}{found[2]}", text)
