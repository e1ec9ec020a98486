"""Fields that only some trials have: `when` other fields have certain values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from sweeper.spec.axes import Scalar, same

Point: TypeAlias = dict[str, Scalar]
Conditions: TypeAlias = Mapping[str, Mapping[str, Sequence[Scalar]]]  # of a field: the values that others must have
Part: TypeAlias = Sequence[Mapping[str, Scalar]]  # the values of a field, or of several that are taken together

_MOST_COMBINED = 100_000


def holds(condition: Mapping[str, Sequence[Scalar]], point: Mapping[str, Any]) -> bool:
    """Whether each field of a condition has one of its values; a field that is absent has none."""
    return all(
        (value := point.get(name)) is not None and any(same(value, one) for one in admitted)
        for name, admitted in condition.items()
    )


def without_absent(point: Mapping[str, Scalar], conditions: Conditions) -> Point:
    """A point with None for all fields whose condition does not hold in it."""
    found = dict(point)
    for name in _in_order({name: [name] for name in conditions}, conditions):
        if name in found and not holds(conditions[name], found):
            found[name] = None
    return found


def points(parts: Mapping[str, Part], conditions: Conditions, outermost: str | None = None) -> Iterator[Point]:
    """The product of all parts, in which a field whose condition does not hold is None; one point after the other.

    Parts come in their order, but each after those that its condition asks for. The `outermost` one, which must have no
    condition, comes before all.
    """
    order = _in_order({key: list(rows[0]) for key, rows in parts.items()}, conditions)
    if outermost is not None:
        order = [outermost, *(key for key in order if key != outermost)]
    levels = [(parts[key], conditions.get(key, {}), [{key: None}]) for key in order]

    def below(level: int, point: Point) -> Iterator[Point]:
        rows, condition, absent = levels[level]
        some = rows if holds(condition, point) else absent
        if level + 1 == len(levels):
            return ({**point, **row} for row in some)
        return itertools.chain.from_iterable(below(level + 1, {**point, **row}) for row in some)

    return below(0, {}) if levels else iter([{}])


def count(parts: Mapping[str, Part | int], conditions: Conditions) -> int:
    """How many points there are; of parts that no condition asks for the length is enough.

    An upper bound where conditions ask for very many combinations.
    """
    asked = {name for condition in conditions.values() for name in condition}
    deciding = {key: part for key, part in parts.items() if not isinstance(part, int) and asked & part[0].keys()}
    if math.prod(map(len, deciding.values())) > _MOST_COMBINED:
        return math.prod(_length(part) for part in parts.values())
    rest = {key: _length(part) for key, part in parts.items() if key not in deciding}
    return sum(
        math.prod(length for key, length in rest.items() if holds(conditions.get(key, {}), one))
        for one in points(deciding, conditions)
    )


def condition_faults(conditions: Conditions, parts: Mapping[str, Part], searched: Collection[str]) -> list[str]:
    """What is wrong with conditions, one line each; fields of which any number is `searched` cannot be asked for."""
    fields = {name: key for key, rows in parts.items() for name in rows[0]}
    problems = [
        fault
        for name, condition in conditions.items()
        for other, admitted in condition.items()
        if (fault := _reference_fault(name, other, admitted, fields, parts, searched))
    ]
    if problems:
        return problems
    if circle := _circle(conditions):
        return [
            f"space.{circle[0]}.when: asks for {' and that for '.join([*circle[1:], circle[0]])}; remove one of them"
        ]
    asked = {name for condition in conditions.values() for name in condition}
    deciding = {key: rows for key, rows in parts.items() if asked & rows[0].keys()}
    if math.prod(map(len, deciding.values())) > _MOST_COMBINED:
        return []
    found = list(points(deciding, conditions))
    return [
        f"space.{name}.when: never holds, as these values do not occur together; correct it, or remove the field"
        for name, condition in conditions.items()
        if not any(holds(condition, point) for point in found)
    ]


def _reference_fault(
    name: str,
    other: str,
    admitted: Sequence[Scalar],
    fields: Mapping[str, str],
    parts: Mapping[str, Part],
    searched: Collection[str],
) -> str:
    place = f"space.{name}.when.{other}"
    if other not in fields:
        return f"{place}: is not swept; use one of {', '.join(one for one in fields if one != name)}"
    if other in searched:
        return f"{place}: takes any number between its bounds; give it a list, a step or a count"
    values = [row[other] for row in parts[fields[other]]]
    unknown = [value for value in admitted if value is None or not any(same(value, one) for one in values)]
    known = ", ".join(map(repr, dict.fromkeys(value for value in values if value is not None)))
    return f"{place}: {unknown[0]!r} is not among its values; use some of {known}" if unknown else ""


def _circle(conditions: Conditions) -> list[str]:
    """Fields each of which asks for the next, and the last for the first; none where there is no such circle."""
    for start in conditions:
        trail, ways = [start], [iter(conditions[start])]
        while ways:
            name = next(ways[-1], None)
            if name == start:
                return trail
            if name is None:
                ways.pop()
                trail.pop()
            elif name not in trail:
                trail.append(name)
                ways.append(iter(conditions.get(name, ())))
    return []


def _in_order(parts: Mapping[str, Iterable[str]], conditions: Conditions) -> list[str]:
    """The keys of parts in their order, but each after those of the fields that its condition asks for."""
    left, found = {key: set(names) for key, names in parts.items()}, list[str]()
    while left:
        waiting = set().union(*left.values())
        key = next((key for key in left if not waiting & conditions.get(key, {}).keys()), next(iter(left)))
        found.append(key)
        del left[key]
    return found


def _length(part: Part | int) -> int:
    return part if isinstance(part, int) else len(part)
