"""A spec as the store has it, read once into what the rest of the program asks of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sweeper.spec.models import Limits, Prune, Resources, SweepSpec, prune_by_name
from sweeper.spec.repeats import Race, Repeats, repeats_by_name
from sweeper.spec.search import Search, search_by_name


@dataclass(frozen=True)
class StoredSpec:
    """What a sweep was submitted with; `written` is None for an import, for which all else has its defaults.

    An older version may have written it: what it lacks has its default, and what is no spec now is told by `whole`
    alone. `rate` is in dollars per worker and hour.
    """

    written: dict[str, Any] | None = None
    prune: Prune = field(default_factory=Prune)
    reuse: str = "none"
    search: Search = field(default_factory=Search)
    repeats: Repeats = 1
    retries: int = 0
    limits: Limits = field(default_factory=Limits)
    rate: float | None = None

    @classmethod
    def read(cls, written: dict[str, Any] | None) -> StoredSpec:
        """The record of a mapping from the store; raises pydantic's ValidationError where a part is damaged."""
        if written is None:
            return cls()
        repeats = repeats_by_name(written.get("repeats", 1))
        return cls(
            written=written,
            prune=Prune.model_validate(prune_by_name(written.get("prune", {}))),
            reuse=str(written.get("reuse", "none")),
            search=Search.model_validate(search_by_name(written.get("search", {}))),
            repeats=Race.model_validate(repeats) if isinstance(repeats, dict) else int(repeats),
            retries=int(written.get("retries", 0)),
            limits=Limits.model_validate(written.get("limits", {})),
            rate=Resources.model_validate(written.get("resources", {})).dollars_per_worker_hour,
        )

    def whole(self) -> SweepSpec:
        """All of it, as submitted; raises pydantic's ValidationError for an import, and for what is no spec now."""
        return SweepSpec.model_validate(self.written)
