"""How often each point of the space is trained: a fixed number of seeds, or further ones where they tell something."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from engine.config import Number, PositiveInt

LEVEL = 0.95  # at which intervals are given and settings told apart, unless said otherwise
_WORDS = "a whole number of at least 1, or auto"


def share_by_name(written: Any) -> Any:
    """A share as people write it: 0.01, or "1%".

    Raises:
        ValueError: it is no number, or not between 0 and 1.
    """
    if written is None:
        return None
    text = str(written).strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise ValueError("is no share; give one, for example 1% or 0.01") from None
    if not 0 < share < 1:
        raise ValueError("is no share above 0 % and below 100 %; give one, for example 1% or 0.01")
    return share


class Race(BaseModel):
    """`repeats: auto`: every setting gets `at_least` seeds, and then one at a time goes where it tells most.

    Each group ends for itself: as soon as the expected regret of its recommended setting is at most `regret`. Without
    `regret` it ends when its best setting is told apart from the others at `level`. It also ends when those that may
    still be the best have `at_most` seeds, or when the sweep has so many `trials`. `at_least` is 1 with a `regret`, and
    2 without, unless it is given.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: Literal["auto"] = "auto"
    regret: Annotated[float | None, BeforeValidator(share_by_name)] = None
    at_least: Annotated[int, Number, Field(ge=1)] = 2
    at_most: Annotated[int, Number, Field(ge=2)] = 10
    level: Annotated[float, Number, Field(gt=0, lt=1)] = LEVEL
    trials: PositiveInt | None = None

    @model_validator(mode="before")
    @classmethod
    def _begins(cls, written: Any) -> Any:
        """With a wanted regret one seed will do at first: neighbours tell, too, how much areas vary by chance."""
        if isinstance(written, dict) and written.get("regret") is not None:
            return {"at_least": 1, **written}
        return written

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
    return isinstance(repeats, Race) or repeats > 1
