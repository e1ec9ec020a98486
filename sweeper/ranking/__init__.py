"""Ranking, as pure functions: curves and areas, qualifying, repeats, confidence, cost and the exact bound."""

from __future__ import annotations

from sweeper.ranking.rank import Candidate, Group, Key, best_per_group, group_key, qualifies, rank, sort_key

__all__ = [
    "Candidate",
    "Group",
    "Key",
    "best_per_group",
    "group_key",
    "qualifies",
    "rank",
    "sort_key",
]
