"""Points of the space that need nothing to be known: random ones, and quasi-random ones, which leave fewer gaps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sweeper.spec import SweepSpec
from sweeper.spec.axes import Scalar
from sweeper.spec.conditions import Point
from sweeper.spec.dimensions import Dimension, Interval
from sweeper.spec.repeats import planned_seeds

_BATCH = 64  # drawn at a time, a power of two as Sobol's sequence has it
_MOST_DRAWN = 20  # times the points wanted, and of a small space so many at least: what is left of it is then listed
_LEAST_DRAWN = 5_000
_STARTUP, _STARTUP_PART = 10, 3  # a study begins with ten points, or with a third of them all
_STARTUP_OF_CMA = 2  # it has a distribution of its own to begin with


def groups_of(spec: SweepSpec) -> list[Point]:
    """The values of each group, worker counts outermost; a single group of none where they are not counted."""
    grouping = {name: one for name, one in spec.dimensions.items() if name in spec.objective.group_by}
    if any(isinstance(one, Interval) for one in grouping.values()):
        return [{}]
    values = itertools.product(*(one.values for one in grouping.values() if not isinstance(one, Interval)))
    return [dict(zip(grouping, combination, strict=True)) for combination in values]


def shares(spec: SweepSpec) -> list[tuple[Point, int]]:
    """How many points each group gets in all: evenly many, the first ones one more where they do not divide."""
    assert spec.search.trials is not None
    groups, points = groups_of(spec), spec.search.trials // planned_seeds(spec.repeats)
    each, left = divmod(points, len(groups))
    return [(group, each + (number < left)) for number, group in enumerate(groups)]


def first_points(spec: SweepSpec) -> list[Point]:
    """All points of a search that does not learn, and those that the others begin with; group after group."""
    return [
        point
        for number, (group, share) in enumerate(shares(spec))
        for point in sample(spec, group, startup(spec, share), [spec.search.seed, number])
    ]


def further_points(spec: SweepSpec, there: Sequence[Mapping[str, Any]]) -> list[Point]:
    """What a search that does not learn adds to a sweep, whose trials have these parameters, for it to have all.

    In an unchanged space these are the points that a larger search would have drawn after those that are there.
    """
    known = [{name: parameters.get(name) for name in spec.dimensions} for parameters in there]
    taken = {tuple(point.values()) for point in known}
    found: list[Point] = []
    for number, (group, share) in enumerate(shares(spec)):
        members = {tuple(point.values()) for point in known if group.items() <= point.items()}
        drawn = sample(spec, group, share + len(members), [spec.search.seed, number])
        found += [point for point in drawn if tuple(point.values()) not in taken][: max(0, share - len(members))]
    assert spec.search.trials is not None
    return found[: max(0, spec.search.trials // planned_seeds(spec.repeats) - len(taken))]


def startup(spec: SweepSpec, share: int) -> int:
    """With how many points a group's study begins, of `share` that it has in all."""
    if not spec.search.learns:
        return share
    return min(
        share, _STARTUP_OF_CMA if spec.search.method == "cma-es" else max(2, min(_STARTUP, share // _STARTUP_PART))
    )


def sample(spec: SweepSpec, group: Point, count: int, seed: list[int]) -> list[Point]:
    """`count` different points of a group, or as many as there are."""
    free = {name: one for name, one in spec.dimensions.items() if name not in group}
    drawn = _random(len(free), seed) if spec.search.method == "random" else _sobol(len(free), seed)
    found: dict[tuple[Scalar, ...], Point] = {}
    for place in itertools.islice(drawn, max(_LEAST_DRAWN, _MOST_DRAWN * count)):
        point = {name: one.at(share) for (name, one), share in zip(free.items(), place, strict=True)}
        point = spec.without_absent({**group, **point})
        found.setdefault(tuple(point.values()), point)
        if len(found) >= count:
            break
    else:
        for point in _all_points(free):
            if len(found) < count:
                point = spec.without_absent({**group, **point})
                found.setdefault(tuple(point.values()), point)
    return [{name: point[name] for name in spec.dimensions} for point in found.values()]


def _random(count: int, seed: list[int]) -> Iterator[list[float]]:
    generator = np.random.default_rng(seed)
    while True:
        yield generator.random(count).tolist()


def _sobol(count: int, seed: list[int]) -> Iterator[list[float]]:
    from scipy.stats import qmc  # takes a while to load

    if not count:
        yield []
        return
    sequence = qmc.Sobol(count, scramble=True, rng=np.random.default_rng(seed))
    while True:
        yield from sequence.random(_BATCH).tolist()


def _all_points(dimensions: Mapping[str, Dimension]) -> Iterator[Point]:
    """Every point of what is counted; nothing where it is not."""
    if any(one.count is None for one in dimensions.values()):
        return
    values = [
        range(int(one.low), int(one.high) + 1) if isinstance(one, Interval) else one.values
        for one in dimensions.values()
    ]
    for combination in itertools.product(*values):
        yield dict(zip(dimensions, combination, strict=True))
