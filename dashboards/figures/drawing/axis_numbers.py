"""How numbers are written along an axis of matplotlib."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from matplotlib.ticker import Formatter

from dashboards.figures.words.numbers import number, thousands


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
        factor, suffix = thousands(largest)
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
