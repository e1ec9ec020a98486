"""Swept fields that change nothing in some trials, or in all: the engine's settings know when a field does."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from pydantic import ValidationError

from engine.config import TrainingConfig
from sweeper.spec.axes import WORKERS, Scalar
from sweeper.spec.conditions import Point

_MOST_COMBINED = 4096
Configure: TypeAlias = Callable[[Mapping[str, Scalar]], TrainingConfig]


class Idle(NamedTuple):
    """What a field would need to have an effect, and whether it has none in any trial."""

    needs: str
    always: bool


def idle_fields(
    axes: Mapping[str, Sequence[Scalar]], shape: Callable[[Point], Point], configure: Configure, *, on_gpus: bool
) -> dict[str, Idle]:
    """The swept fields that have no effect in some trials; none where the combinations are too many to look at.

    `axes` are the values of all swept fields, `shape` makes absent what a point does not have, and `configure` gives
    the settings at a point, or raises pydantic's ValidationError. Of numbers the smallest and the largest stand for
    all.
    """
    ends = {name: _ends(values) for name, values in axes.items()}
    if math.prod(map(len, ends.values())) > _MOST_COMBINED:
        return {}
    needs: dict[str, str] = {}
    of_use: set[str] = set()
    for values in itertools.product(*ends.values()):
        point = shape(dict(zip(ends, values, strict=True)))
        try:
            idle = configure(point).idle(int(point[WORKERS] or 1), on_gpus=on_gpus)
        except ValidationError:
            continue  # fields that do not go together are told of elsewhere
        present = {name for name, value in point.items() if value is not None}
        needs |= {name: idle[name] for name in present & idle.keys()}
        of_use |= present - idle.keys()
    return {name: Idle(needs[name], name not in of_use) for name in axes if name in needs}


def _ends(values: Sequence[Scalar]) -> Sequence[Scalar]:
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return list(dict.fromkeys((min(numbers), max(numbers)))) if numbers and len(numbers) == len(values) else values
