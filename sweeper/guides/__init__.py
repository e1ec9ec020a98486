"""Guides decide which trial runs next and which one stops early: area bound, forecast, pruners, race, searches."""

from __future__ import annotations

from sweeper.guides.area import AreaGuide
from sweeper.guides.base import Guide
from sweeper.guides.choice import guide_for
from sweeper.guides.race import RacingGuide

__all__ = ["AreaGuide", "Guide", "RacingGuide", "guide_for"]
