"""`space.points` as a list of settings: each gives several fields a value, as the winners of another sweep do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import RootModel

from sweeper.spec.axes import Scalar, same
from sweeper.spec.mixed_batches import with_both_sizes

NAME = "points"  # under which the space has them


class ListedSettings(RootModel[tuple[dict[str, Scalar], ...]]):
    """Settings taken together, each a value for each of the same fields."""

    @property
    def names(self) -> list[str]:
        """The fields, as the first setting has them."""
        return list(self.root[0])

    def values_of(self, name: str) -> list[Scalar]:
        """A field's value in each setting."""
        return [setting[name] for setting in self.root]


def with_settings(written: Any) -> Any:
    """A spec whose `space.points`, where it is a list of mappings, is `ListedSettings`; numbers there are loss points.

    Raises:
        ValueError: a setting that is none, or unlike the others; one line for each fault.
    """
    space = written.get("space") if isinstance(written, Mapping) else None
    if not isinstance(space, Mapping):
        return written
    points = space.get(NAME)
    if not isinstance(points, list | tuple) or not any(isinstance(one, Mapping) for one in points):
        return written
    points = with_both_sizes(points)
    if problems := _faults(points):
        raise ValueError("\n".join(problems))
    settings = ListedSettings(tuple(dict(one) for one in points))
    return {**written, "space": {**space, NAME: settings}}


def _faults(settings: Sequence[Any]) -> list[str]:
    problems: list[str] = []
    first = next(one for one in settings if isinstance(one, Mapping))
    if not first:
        return [f"space.{NAME}: a setting is empty; give it fields and values, such as workers: 2"]
    for number, one in enumerate(settings):
        place = f"space.{NAME}[{number}]"
        if not isinstance(one, Mapping):
            problems.append(f"{place}: {one!r} stands among settings; write fields and values, such as {{workers: 2}}")
            continue
        problems += [
            f"{place}.{name}: {value!r} is not a single value; give a number, a name, true or false"
            for name, value in one.items()
            if not isinstance(value, Scalar)
        ]
        if one.keys() != first.keys():
            differ = ", ".join(map(str, first.keys() ^ one.keys()))
            problems.append(f"{place}: not all settings have {differ}; give every setting the same fields")
        if any(_are_same(one, other) for other in settings[:number]):
            problems.append(f"{place}: {dict(one)} is given twice; keep one of them")
    return problems


def _are_same(one: Mapping[str, Any], other: Any) -> bool:
    return one == other and all(same(value, other[name]) for name, value in one.items())
