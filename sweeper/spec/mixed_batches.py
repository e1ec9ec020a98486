"""Listed settings that mix the two ways to give a batch size: of each worker, and of all workers together.

So weak and strong scaling are measured in one sweep. Each setting has a size of one kind and none of the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.config import BATCH_SIZES
from sweeper.spec.axes import WORKERS, Scalar, same

_OF_WORKER, _OF_ALL = BATCH_SIZES


def with_both_sizes(settings: Sequence[Any]) -> list[Any]:
    """Settings some of which have one size and some the other: None for that which a setting lacks."""
    present = {name for one in settings if isinstance(one, Mapping) for name in BATCH_SIZES if name in one}
    if len(present) < len(BATCH_SIZES):
        return list(settings)
    absent = dict.fromkeys(BATCH_SIZES)
    return [
        {**one, **{name: None for name in absent if name not in one}}
        if isinstance(one, Mapping) and any(name in one for name in BATCH_SIZES)
        else one
        for one in settings
    ]


def mixture_faults(settings: Sequence[Mapping[str, Scalar]], place: str) -> list[str]:
    """The settings, at their place in the spec, that have not exactly one size; none where sizes are not mixed."""
    if not all(name in settings[0] for name in BATCH_SIZES):
        return []
    problems = []
    for number, one in enumerate(settings):
        given = [name for name in BATCH_SIZES if one[name] is not None]
        if len(given) > 1:
            problems.append(f"{place}[{number}]: {' and '.join(given)} exclude each other; keep one of them")
        elif not given:
            problems.append(f"{place}[{number}]: has no batch size; give {' or '.join(BATCH_SIZES)}")
    return problems


def is_there_twice(point: Mapping[str, Scalar], settings: Sequence[Mapping[str, Scalar]]) -> bool:
    """Whether a point is the trial that another setting has by the size of each worker.

    It is run once, and counts for both kinds of scaling. With one worker both sizes are the same.
    """
    size, workers = point.get(_OF_ALL), point.get(WORKERS)
    if not isinstance(size, int) or not isinstance(workers, int) or size % workers:
        return False
    wanted = {**point, _OF_WORKER: size // workers, _OF_ALL: None}
    return any(all(same(value, wanted[name]) for name, value in one.items()) for one in settings)
