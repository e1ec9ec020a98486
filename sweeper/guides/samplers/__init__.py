"""The points of a sampled search: random and quasi-random ones, and those of Optuna studies."""

from __future__ import annotations

from sweeper.guides.samplers.points import first_points, further_points

__all__ = ["first_points", "further_points"]
