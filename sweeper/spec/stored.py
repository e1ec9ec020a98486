"""A spec as the store has it: each part read once, when the rest of the program first asks for it."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sweeper.spec.axes import SEED
from sweeper.spec.listed_settings import NAME as LISTED
from sweeper.spec.models import Limits, Prune, Resources, SweepSpec, prune_by_name
from sweeper.spec.repeats import Race, Repeats, repeats_by_name
from sweeper.spec.search import Search, search_by_name


def config_as_meant(written: dict[str, Any], swept: Container[str] = ()) -> dict[str, Any]:
    """A trial's settings in today's words, as whichever version wrote them meant them; `swept` are further fields.

    Settings are stored with all their defaults. Those without `augmentation.batch` are from a time when every instance
    of a sample counted as an image.
    """
    augmentation = written.get("augmentation")
    if not isinstance(augmentation, dict) or "batch" in augmentation:
        return written
    if augmentation.get("instances", 1) == 1 and "augmentation.instances" not in swept:
        return written
    return {**written, "augmentation": {**augmentation, "batch": "instances"}}


def spec_as_meant(written: dict[str, Any] | None) -> dict[str, Any] | None:
    """The same for a whole spec; None for an import."""
    if not written or not isinstance(trial := written.get("trial"), dict):
        return written
    return {**written, "trial": config_as_meant(trial, written.get("space") or ())}


@dataclass(frozen=True)
class StoredSpec:
    """What a sweep was submitted with; `written` is None for an import, for which all else has its defaults.

    An older version may have written it: what it lacks has its default. A part that is damaged, or that a later version
    wrote, raises pydantic's ValidationError when it is asked for, so that it keeps no other sweep from being listed.
    """

    written: dict[str, Any] | None = None

    @property
    def is_command(self) -> bool:
        """Whether the trials are a program of the user's; not of an import."""
        return "command" in (self._part("trial", None) or {})

    @cached_property
    def prune(self) -> Prune:
        """What stops trials before their end."""
        return Prune.model_validate(prune_by_name(self._part("prune", {})))

    @cached_property
    def reuse(self) -> str:
        """Whether trials share runs: "none" or "equivalent"."""
        return str(self._part("reuse", "none"))

    @cached_property
    def search(self) -> Search:
        """Where the points of the space come from."""
        return Search.model_validate(search_by_name(self._part("search", {})))

    @cached_property
    def repeats(self) -> Repeats:
        """How many seeds each setting gets."""
        repeats = repeats_by_name(self._part("repeats", 1))
        return Race.model_validate(repeats) if isinstance(repeats, dict) else int(repeats)

    def repeats_with(self, *, seeds: bool) -> Repeats:
        """The repeats as the trials have them; `seeds` says whether any of these has a seed among its parameters.

        2 stands for several where the spec gives one seed, and `sweeper extend` has added others.
        """
        return 2 if seeds and self.repeats == 1 and self._gives_all_seeds else self.repeats

    def is_further_seed(self, parameters: Mapping[str, Any]) -> bool:
        """Whether a trial's seed is beyond those that the spec gives each setting; never in a race."""
        seed, repeats = parameters.get(SEED), self.repeats
        if not isinstance(seed, int) or not isinstance(repeats, int) or not self._gives_all_seeds:
            return False
        return seed >= self.first_seed + repeats

    @property
    def first_seed(self) -> int:
        """The seed of a trial that has none among its parameters."""
        trial = self._part("trial", None) or {}
        return int(((trial.get("values") or {}).get(SEED) if self.is_command else trial.get(SEED)) or 0)

    @property
    def _gives_all_seeds(self) -> bool:
        """Whether a seed among a trial's parameters comes from repeats: not where seeds are swept, or imported."""
        space = self._part("space", None) or {}
        listed = space.get(LISTED)
        swept = isinstance(listed, list) and any(isinstance(one, dict) and SEED in one for one in listed)
        return self.written is not None and SEED not in space and not swept

    @cached_property
    def retries(self) -> int:
        """How many further attempts a trial gets that fails."""
        return int(self._part("retries", 0))

    @cached_property
    def limits(self) -> Limits:
        """How long a trial may take, and be silent."""
        return Limits.model_validate(self._part("limits", {}))

    @cached_property
    def rate(self) -> float | None:
        """Dollars per worker and hour, None where the spec names none."""
        return Resources.model_validate(self._part("resources", {})).dollars_per_worker_hour

    def whole(self) -> SweepSpec:
        """All of it, as submitted; raises pydantic's ValidationError for an import, and for what is no spec now."""
        return SweepSpec.model_validate(self.written)

    def _part(self, name: str, default: Any) -> Any:
        return (self.written or {}).get(name, default)
