"""Sweeps over batch size, learning rate and worker count, ranked by the thresholded area under the loss curve.

`report` and `start` are for a command that runs as a trial.
"""

from __future__ import annotations

from sweeper.reporting import report, start

__all__ = ["report", "start"]
