"""Which trial to run next."""

from __future__ import annotations

from sweeper.search.guide import AreaGuide, Guide, guide_for

__all__ = ["AreaGuide", "Guide", "guide_for"]
