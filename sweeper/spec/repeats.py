"""How often each point of the space is trained: a fixed number of seeds, or a race for further ones."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from engine.config import Number, PositiveInt

LEVEL = 0.95  # at which intervals are given and settings told apart, unless said otherwise
_WORDS = "a whole number of at least 1, or auto"


class Race(BaseModel):
    """`repeats: auto`: every setting gets `at_least` seeds, and then those that may still win one more at a time.

    It ends when the best of each group is told apart from the others at `level`, when those that are not have
    `at_most` seeds, or when the sweep has so many `trials`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: Literal["auto"] = "auto"
    at_least: Annotated[int, Number, Field(ge=2)] = 2
    at_most: Annotated[int, Number, Field(ge=2)] = 10
    level: Annotated[float, Number, Field(gt=0, lt=1)] = LEVEL
    trials: PositiveInt | None = None

    @model_validator(mode="after")
    def _has_room(self) -> Self:
        if self.at_least > self.at_most:
            raise ValueError(f"at_least {self.at_least} is above at_most {self.at_most}: exchange them")
        return self

    @property
    def looks(self) -> int:
        """How often two settings may be compared: after `at_least` seeds, and after each further one."""
        return self.at_most - self.at_least + 1


def _kind(written: Any) -> str:
    return "kind[race]" if isinstance(written, dict | Race) else "kind[number]"


Repeats: TypeAlias = Annotated[
    Annotated[PositiveInt, Tag("kind[number]")] | Annotated[Race, Tag("kind[race]")], Discriminator(_kind)
]


def repeats_by_name(written: Any) -> Any:
    """`auto` for `{method: auto}`, as people write it.

    Raises:
        ValueError: another word.
    """
    if written == "auto":
        return {"method": "auto"}
    if isinstance(written, str) and not written.strip().isdecimal():
        raise ValueError(f"is no number of repeats; give {_WORDS}")
    return written


def planned_seeds(repeats: int | Race) -> int:
    """How many seeds every setting gets to begin with."""
    return repeats.at_least if isinstance(repeats, Race) else repeats


def gives_seeds(repeats: int | Race) -> bool:
    """Whether the parameter `seed` of trials comes from their repeats, and is none that was swept."""
    return planned_seeds(repeats) > 1
