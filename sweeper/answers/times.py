"""Why the times of a sweep's trials may not compare, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sweeper.answers.side_by_side import side_by_side_words
from sweeper.answers.uneven_pace import uneven_pace_words
from sweeper.spec.axes import WORKERS
from sweeper.store import Store, SweepRecord

_TIMED = ("seconds", "dollars")


def notes_on_times(store: Store, sweep: SweepRecord, over: str, groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is to be known of the areas over this axis in the groups of an answer of `best`; empty if nothing is."""
    if over not in _TIMED:
        return []
    compares_counts = len({group["group"].get(WORKERS) for group in groups}) > 1
    repeated = any(group["winner"] and group["winner"]["repeats"] > 1 for group in groups)
    found = (
        side_by_side_words(store, sweep) if compares_counts else "",
        uneven_pace_words(store, sweep.id) if repeated else "",
    )
    return [words for words in found if words]
