"""What differs in the specs of two sweeps: what a comparison of their results starts with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from sweeper.spec import StoredSpec
from sweeper.store import SweepRecord

_NOT_COMPARED = ("name",)


@dataclass(frozen=True)
class Difference:
    """A field by its dotted path, and what each spec has there; None where it has nothing."""

    field: str
    first: Any
    second: Any


def spec_differences(first: SweepRecord, second: SweepRecord) -> list[Difference]:
    """The fields in which two specs differ, in the order of the first one; names do not count.

    An import has no spec: of an import and a run the only difference is where they come from.
    """
    if first.spec.written is None or second.spec.written is None:
        return [] if first.origin == second.origin else [Difference("origin", first.origin, second.origin)]
    before, after = (dict(_fields(_as_read_now(sweep.spec))) for sweep in (first, second))
    names = [name for name in dict.fromkeys([*before, *after]) if name not in _NOT_COMPARED]
    found = (Difference(name, before.get(name), after.get(name)) for name in names)
    return [one for one in found if one.first != one.second]


def _as_read_now(spec: StoredSpec) -> Mapping[str, Any]:
    """A spec with the defaults of all that an earlier version did not know; as it is written where it is damaged."""
    try:
        return spec.whole().model_dump(mode="json")
    except ValidationError:
        return spec.written or {}


def _fields(written: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Fields that are no mappings themselves; of the space each axis as a whole."""
    for name, value in written.items():
        if isinstance(value, Mapping) and above != "space.":
            yield from _fields(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value
