"""Stopping trials early: what can win no more."""

from __future__ import annotations

from sweeper.pruning.area import AreaPruner
from sweeper.pruning.means import Hopeless

__all__ = ["AreaPruner", "Hopeless"]
