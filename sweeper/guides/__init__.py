"""Which trial to run next."""

from __future__ import annotations

from sweeper.guides.area import AreaGuide
from sweeper.guides.base import Guide
from sweeper.guides.choice import guide_for
from sweeper.guides.race import RacingGuide

__all__ = ["AreaGuide", "Guide", "RacingGuide", "guide_for"]
