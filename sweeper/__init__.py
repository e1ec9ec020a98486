"""Sweeps over batch size, learning rate and worker count, ranked by the thresholded area under the loss curve.

`open` and `run` are the Python interface (`sweeper.api`, docs/python.md); they are loaded when they are first used.
`report` and `start` are for a command that runs as a trial.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sweeper.reporting import report, start

if TYPE_CHECKING:
    from sweeper.api import Sweep, Sweeps, open, run

__all__ = ["Sweep", "Sweeps", "open", "report", "run", "start"]

_LAZY = frozenset({"Sweep", "Sweeps", "open", "run"})


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module("sweeper.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
