"""Which trial to run next."""

from __future__ import annotations

from sweeper.search.choice import guide_for
from sweeper.search.guide import AreaGuide, Guide
from sweeper.search.racing import RacingGuide

__all__ = ["AreaGuide", "Guide", "RacingGuide", "guide_for"]
