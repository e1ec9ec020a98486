"""How the studies' tables write a mean with its interval."""

from __future__ import annotations

from collections.abc import Callable


def with_interval(
    mean: float, interval: tuple[float, float] | None, write: Callable[[float], str], unit: str = ""
) -> str:
    """The two as in "2.77 s (2.75 to 2.80)", each number as `write` has it; the mean alone if it has no interval."""
    text = f"{write(mean)}{unit}"
    return text if interval is None else f"{text} ({' to '.join(map(write, interval))})"
