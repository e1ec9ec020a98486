"""The values that a swept field takes: lists, and ranges with a step, a factor or a count, and when it takes any."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from engine.config import Number, PositiveInt

Scalar = bool | int | float | str | None  # None where a field has no value: a word of a command that is left out
WORKERS, SEED = "workers", "seed"  # what a space may hold besides a trial's fields, and what repeats give
MAXIMUM_VALUES = 10_000
_SIGNIFICANT_DIGITS = 12
_SLACK = 1e-9  # so that rounding does not lose the last value of a log range


def _as_condition(written: Any) -> Any:
    """Single values as lists of one.

    Raises:
        ValueError: no field, or a field without a value, or one that is no single value.
    """
    if not isinstance(written, dict):
        return written
    if not written:
        raise ValueError("names no field; give one with its values, for example workers: 2, or remove it")
    found = {name: parse_list(value) for name, value in written.items()}
    if empty := [str(name) for name, values in found.items() if not values]:
        raise ValueError(f"{empty[0]} has no value; give one, or a list of them")
    return found


When = Annotated[dict[str, tuple[Scalar, ...]], BeforeValidator(_as_condition)]


class Values(BaseModel):
    """A list of `values`, which a field takes in trials in which each field of `when` has one of the values there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    values: Annotated[list[Scalar], BeforeValidator(lambda written: parse_list(written))]
    when: When


class Range(BaseModel):
    """Values from `low` to at most `high`, both included.

    `step` is added from one value to the next, or multiplied with where `log` is true; `count` asks for that many
    values, evenly spaced (in the logarithm where `log` is true). A log range with neither goes by factors of ten. To a
    search that samples, a range with neither is all numbers in between, or all whole ones where `whole` says so; in a
    grid it must be a log range. `when` is as in `Values`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    low: Annotated[float, Number, Field(allow_inf_nan=False)]
    high: Annotated[float, Number, Field(allow_inf_nan=False)]
    step: Annotated[float, Number, Field(gt=0, allow_inf_nan=False)] | None = None
    count: PositiveInt | None = None
    log: bool = False
    whole: bool | None = None
    when: When | None = None

    @model_validator(mode="after")
    def _bounds_hold(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low {self.low:g} is above high {self.high:g}: exchange them")
        if self.log and self.low <= 0:
            raise ValueError(f"low {self.low:g} has no logarithm: a log range needs bounds above zero")
        if self.step is not None and self.count is not None:
            raise ValueError("step and count exclude each other: keep one of them")
        if self.count == 1 and self.low < self.high:
            raise ValueError("count 1 leaves no room for both bounds: give at least 2, or low and high alike")
        if self.log and self.step is not None and self.step <= 1:
            raise ValueError(f"step {self.step:g} is a factor in a log range: give one above 1")
        if self.whole is not None and not self.open:
            raise ValueError("whole is for a range that is searched, without step and count: remove it, or these")
        if self.whole and not (self.low.is_integer() and self.high.is_integer()):
            raise ValueError(f"low {self.low:g} and high {self.high:g} have to be whole: correct them, or remove whole")
        if self.size() > MAXIMUM_VALUES:
            raise ValueError(f"more than {MAXIMUM_VALUES} values: give a larger step or a smaller count")
        return self

    @property
    def open(self) -> bool:
        """Whether it does not say which numbers between its bounds are meant."""
        return self.step is None and self.count is None

    def size(self) -> int:
        """Number of values; of an open range that is no log range its bounds."""
        if self.count is not None:
            return self.count
        if self.open and not self.log:
            return 1 + (self.low < self.high)
        if self.log:
            steps = (math.log(self.high) - math.log(self.low)) / math.log(self.step or 10)
            return int(steps * (1 + _SLACK) + _SLACK) + 1
        assert self.step is not None
        return int((_decimal(self.high) - _decimal(self.low)) / _decimal(self.step)) + 1

    def values(self) -> list[float]:
        """The values in rising order, free of rounding: 0.3, not 0.30000000000000004."""
        return [min(max(self._value(i), self.low), self.high) for i in range(self.size())]

    def _value(self, i: int) -> float:
        if i == 0:
            return self.low
        if self.count is not None:
            return self._between(i / (self.count - 1))
        if self.open and not self.log:
            return self.high
        if self.log:
            return _rounded(float(_decimal(self.low) * _decimal(self.step or 10) ** i))
        assert self.step is not None
        return float(_decimal(self.low) + i * _decimal(self.step))

    def _between(self, fraction: float) -> float:
        if fraction == 1:
            return self.high
        if self.log:
            return _rounded(self.low ** (1 - fraction) * self.high**fraction)
        return _rounded((1 - fraction) * self.low + fraction * self.high)


def parse_axis(written: Any) -> Any:
    """A field's values as a user may write them: a list, a range, or a single value; none where nothing is written.
    A list may stand below `values`, with `when` beside it. What is parsed already stays as it is.

    Raises:
        ValueError: a value that no field can take, such as a list in the list.
    """
    if isinstance(written, BaseModel):
        return written
    if isinstance(written, dict):
        if both := [name for name in Range.model_fields if name in written and name != "when" and "values" in written]:
            raise ValueError(f"values and {both[0]} exclude each other: keep one of them")
        if written.keys() == {"when"}:
            raise ValueError("has a condition and no values; add values, or low and high")
        return (Values if "values" in written else Range).model_validate(written)
    return parse_list(written)


def parse_list(written: Any) -> list[Scalar]:
    """The same of a list, or a single value.

    Raises:
        ValueError: see `parse_axis`.
    """
    if written is None:
        return []
    values = list(written) if isinstance(written, list | tuple) else [written]
    for value in values:
        if not isinstance(value, Scalar):
            settings = "; settings taken together go below space.points" if isinstance(value, dict) else ""
            raise ValueError(f"{value!r} is no single value; give numbers, names, true or false{settings}")
    return values


def same(one: Scalar, other: Scalar) -> bool:
    """Whether two values are one: equal numbers are, but true is not 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def expand(axis: list[Scalar] | Range, *, integers: bool) -> list[Scalar]:
    """The values of an axis as written; those of a range are rounded where the field holds integers."""
    if not isinstance(axis, Range):
        return list(axis)
    values = axis.values()
    if not integers:
        return list(values)
    if axis.count is None and not axis.log:
        return [int(value) if value.is_integer() else value for value in values]
    return [round(value) for value in values]


def _decimal(number: float) -> Decimal:
    return Decimal(repr(number))


def _rounded(number: float) -> float:
    return float(f"{number:.{_SIGNIFICANT_DIGITS}g}")


def with_whole_bounds(written: Any) -> Any:
    """A spec of a command that is searched, whose ranges between bounds without a decimal point are of whole numbers.

    A command's names have no types of their own, and whoever writes 1 to 9 means whole numbers (so do the sweeps of
    Weights & Biases): `low: 1.0` or `whole: false` is for any number. The engine's fields have types, which decide.
    """
    if not isinstance(written, Mapping) or not _is_searched_command(written):
        return written
    space = {name: _with_whole_bounds(axis) for name, axis in written["space"].items()}
    return {**written, "space": space}


def _is_searched_command(written: Mapping[str, Any]) -> bool:
    trial, search = written.get("trial"), written.get("search", "grid")
    method = search.get("method", "grid") if isinstance(search, Mapping) else getattr(search, "method", search)
    is_command = "command" in trial if isinstance(trial, Mapping) else hasattr(trial, "command")
    return is_command and method != "grid" and isinstance(written.get("space"), Mapping)


def _with_whole_bounds(axis: Any) -> Any:
    if not isinstance(axis, Mapping) or axis.keys() & {"step", "count", "whole"}:
        return axis
    bounds = (axis.get("low"), axis.get("high"))
    whole = all(isinstance(bound, int) and not isinstance(bound, bool) for bound in bounds)
    return {**axis, "whole": True} if whole else axis
