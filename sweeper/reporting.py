"""What a command that runs as a trial calls to tell its losses; outside a sweep it does nothing.

A program in another language prints the same line on rank 0's standard output, by itself on a line:

    {"sweeper": {"loss": 0.52, "step": 100, "images": 12800, "seconds": 3.4}}

of which only `loss` is needed.
"""

from __future__ import annotations

import json
import math
import operator
import os
import sys
import time
from typing import SupportsFloat, SupportsIndex

KEY = "sweeper"
MARK = f'{{"{KEY}":'  # begins a line that is for the sweep
TRIAL_VARIABLE = "SWEEPER_TRIAL"
_begun = time.perf_counter()


def start() -> None:
    """Training begins now: what went before, such as loading data, is not counted in `seconds`.

    Without this call the clock begins when `sweeper` is imported.
    """
    global _begun
    _begun = time.perf_counter()
    _say({"started": True})


def report(*, loss: SupportsFloat, step: SupportsIndex | None = None, images: SupportsIndex | None = None) -> None:
    """A point of the loss curve: `loss` after `step` steps, and `images` of all workers together, since the start.

    `step` counts the calls where it is not given; without `images` the area over images cannot be had. Calls on other
    ranks than 0 do nothing.

    Raises:
        TypeError: a loss that is no number, or a step or images that are no whole numbers.
    """
    detach = getattr(loss, "detach", None)  # torch warns of a number from a tensor that still has its graph
    try:
        number = float(loss if detach is None else detach())
    except (TypeError, ValueError):
        raise TypeError(f"sweeper.report: loss={loss!r} is no number") from None
    _say(
        {
            "loss": number if math.isfinite(number) else str(number),
            "step": _whole("step", step),
            "images": _whole("images", images),
            "seconds": time.perf_counter() - _begun,
        }
    )


def _whole(name: str, value: SupportsIndex | None) -> int | None:
    """Whole numbers of any library as Python's."""
    try:
        return None if value is None else operator.index(value)
    except TypeError:
        raise TypeError(f"sweeper.report: {name}={value!r} is no whole number") from None


def _say(content: dict[str, object]) -> None:
    if os.environ.get(TRIAL_VARIABLE) and os.environ.get("RANK", "0") == "0":
        given = {name: value for name, value in content.items() if value is not None}
        sys.__stdout__.write(json.dumps({KEY: given}, separators=(",", ":")) + "\n")  # type: ignore[union-attr]
        sys.__stdout__.flush()  # type: ignore[union-attr]
