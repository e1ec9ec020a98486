"""A swept field as a sampler sees it: values to choose from, or an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from sweeper.spec.axes import Scalar, same

_DIGITS = 4  # of a sampled number: nobody tells a rate of 0.1237 from one of 0.12371


@dataclass(frozen=True)
class Choices:
    """Values to choose from; numbers rise, so that a neighbour in place is one in size. `place` counts from 0."""

    values: tuple[Scalar, ...]

    @property
    def ordered(self) -> bool:
        """Whether all values are numbers, of which a place says more than a name does."""
        return all(isinstance(value, int | float) and not isinstance(value, bool) for value in self.values)

    @property
    def count(self) -> int | None:
        """How many different values there are."""
        return len(self.values)

    def at(self, share: float) -> Scalar:
        """The value at a share of the way, in [0, 1)."""
        return self.values[min(int(share * len(self.values)), len(self.values) - 1)]

    def coordinate(self, value: Any) -> int | None:
        """The place of a value; None where it is none of these."""
        return next((place for place, one in enumerate(self.values) if same(one, value)), None)

    def value(self, coordinate: Any) -> Scalar:
        """The value in a place."""
        return self.values[int(coordinate)]

    def ends(self) -> tuple[Scalar, ...]:
        """Values between which all others lie, the highest first; all where they are names."""
        return tuple(dict.fromkeys((self.values[-1], self.values[0]))) if self.ordered else self.values


@dataclass(frozen=True)
class Interval:
    """Numbers from `low` to `high`, both included: `whole` ones, or any; evenly in the logarithm where `log`."""

    low: float
    high: float
    log: bool
    whole: bool

    @property
    def count(self) -> int | None:
        """How many different values there are; None where nobody counts them."""
        return int(self.high) - int(self.low) + 1 if self.whole else None

    def at(self, share: float) -> Scalar:
        """The value at a share of the way, in [0, 1)."""
        if self.log:
            return self.value(math.exp((1 - share) * math.log(self.low) + share * math.log(self.high)))
        if self.whole:
            return self.value(math.floor(self.low + share * (self.high - self.low + 1)))
        return self.value((1 - share) * self.low + share * self.high)

    def coordinate(self, value: Any) -> float | None:
        """The number itself; None where it is none, or outside."""
        inside = isinstance(value, int | float) and self.low <= value <= self.high
        return value if inside else None

    def value(self, coordinate: Any) -> Scalar:
        """The number that is meant by one that was sampled: whole, or of a few digits."""
        if self.whole:
            return int(min(max(round(coordinate), self.low), self.high))
        return min(max(float(f"{coordinate:.{_DIGITS}g}"), self.low), self.high)

    def ends(self) -> tuple[Scalar, ...]:
        """Values between which all others lie, the highest first."""
        return (int(self.high), int(self.low)) if self.whole else (self.high, self.low)


Dimension: TypeAlias = Choices | Interval


def choices(values: Sequence[Scalar]) -> Choices:
    """These values; numbers in their order of size."""
    unsorted = Choices(tuple(values))
    return Choices(tuple(sorted(cast("Sequence[float]", values)))) if unsorted.ordered else unsorted
