"""Which trial to run next."""

from __future__ import annotations

from sweeper.search.choice import guide_for
from sweeper.search.guide import AreaGuide, Guide

__all__ = ["AreaGuide", "Guide", "guide_for"]
