"""Who wins: curve and area, qualifying, ranking, repeats, confidence, cost, and the exact bound; pure functions."""

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
