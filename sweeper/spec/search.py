"""How a sweep takes its trials from the space: all of a grid, or so many of them, chosen by a method."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from engine.config import Number, PositiveInt
from sweeper.spec.conditions import Conditions, Part, count
from sweeper.spec.dimensions import Choices, Dimension, Interval

LEARNING = ("tpe", "gp", "cma-es")  # methods that choose by what ended trials have come to


class Search(BaseModel):
    """Which points of the space become trials: all of the grid, or `trials` in all, repeats included, by a method.

    Those that learn have one study per group, or with `study: shared` one for all groups.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: Literal["grid", "random", "quasi-random", "tpe", "gp", "cma-es"] = "grid"
    trials: PositiveInt | None = None
    seed: Annotated[int, Number, Field(ge=0, lt=2**32)] = 0
    study: Literal["group", "shared"] = "group"

    @property
    def learns(self) -> bool:
        """Whether later trials depend on what earlier ones have come to."""
        return self.method in LEARNING

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        if self.method == "grid" and self.trials is not None:
            raise ValueError(
                f"trials {self.trials} does nothing with a grid, which takes all points; remove it, or set method to "
                "random, quasi-random, tpe, gp or cma-es"
            )
        if self.method != "grid" and self.trials is None:
            raise ValueError(f"{self.method} needs to know how many trials to take; add trials, such as 40")
        if self.study == "shared" and self.method not in ("tpe", "gp"):
            raise ValueError(f"study: shared is for tpe and gp, and method is {self.method}; remove it")
        return self


def search_by_name(written: Any) -> Any:
    """`grid` for `{method: grid}`, as people write it and older stores have it."""
    return {"method": written} if isinstance(written, str) else written


def with_trials_inside(written: Any) -> Any:
    """A spec in which `trials`, written beside `search`, is a part of it.

    Raises:
        ValueError: it is given in both places.
    """
    if not isinstance(written, dict) or "trials" not in written:
        return written
    number, search = written["trials"], search_by_name(written.get("search", "grid"))
    if not isinstance(search, dict) or isinstance(number, dict):
        return written  # another fault, which is told by its field
    if number is not None and "trials" in search:
        raise ValueError(f"trials: {number!r} is given beside search and in it; keep one of them")
    rest = {name: value for name, value in written.items() if name != "trials"}
    return rest if number is None else {**rest, "search": search | {"trials": number}}


def search_faults(
    search: Search,
    dimensions: Mapping[str, Dimension],
    conditions: Conditions,
    group_by: Sequence[str],
    repeats: int,
) -> list[str]:
    """What does not fit between a search, which is not a grid, and its space, one line each."""
    assert search.trials is not None
    taken, method, problems = search.trials, search.method, []
    if taken % repeats:
        nearest = max(1, round(taken / repeats)) * repeats
        problems.append(f"search.trials: {taken} is no multiple of repeats, {repeats}; give {nearest}")
    groups, whole = _groups(dimensions, group_by), _size_of_space(dimensions, conditions)
    if groups is None and search.learns:
        named = next(name for name in group_by if isinstance(dimensions.get(name), Interval))
        problems.append(f"space.{named}: groups need values that recur; give a list, a step or a count")
    elif groups and taken < groups * repeats:
        problems.append(f"search.trials: {taken} is too few for {groups} groups; give at least {groups * repeats}")
    if whole is not None and taken > whole * repeats:
        problems.append(f"search.trials: {taken} is more than the space has, {whole * repeats}; use search: grid")
    if method == "cma-es" and len(_numbers(dimensions, group_by)) < 2:
        problems.append("search.method: cma-es needs two swept fields of numbers besides the groups'; use tpe or gp")
    return problems


def _groups(dimensions: Mapping[str, Dimension], group_by: Sequence[str]) -> int | None:
    """How many groups there are; None where they are not counted."""
    grouping = [dimensions[name] for name in group_by if name in dimensions]
    return None if any(isinstance(one, Interval) for one in grouping) else _size(grouping)


def _size_of_space(dimensions: Mapping[str, Dimension], conditions: Conditions) -> int | None:
    """How many points there are; None where they are not counted."""
    parts: dict[str, Part | int] = {}
    for name, one in dimensions.items():
        if one.count is None:
            return None
        parts[name] = [{name: value} for value in one.values] if isinstance(one, Choices) else one.count
    return count(parts, conditions)


def _size(dimensions: Sequence[Dimension]) -> int | None:
    counts = [dimension.count for dimension in dimensions]
    return None if None in counts else math.prod(count for count in counts if count is not None)


def _numbers(dimensions: Mapping[str, Dimension], group_by: Sequence[str]) -> list[str]:
    varied = {name: one for name, one in dimensions.items() if name not in group_by and one.count != 1}
    return [name for name, one in varied.items() if not isinstance(one, Choices) or one.ordered]
