"""Where the points of a sampled search come from: random and quasi-random ones, and studies of Optuna."""

from __future__ import annotations

from sweeper.guides.samplers.points import first_points

__all__ = ["first_points"]
