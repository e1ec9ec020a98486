"""What the user brings along: a model or a data set as `package.module:factory`, found by import."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

from engine.errors import ClearError


class FactoryError(ClearError):
    """A model or data set of the user's own cannot be had."""

    kind = "factory"


def check_factory(field: str, reference: str) -> None:
    """Whether the module of `reference` can be found, told without running it.

    Raises:
        FactoryError: it cannot.
    """
    module = reference.partition(":")[0]
    try:
        # A parent package is imported on the way, the module itself is not.
        found = importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        found = False
    if not found:
        raise FactoryError(f"{field}: {reference!r}: there is no module {module}", _REMEDY)


def find_factory(field: str, reference: str) -> Callable[..., Any]:
    """The callable that `reference`, "package.module:factory", names.

    Raises:
        FactoryError: no such module, or it has no such callable. What the module itself raises goes through.
    """
    check_factory(field, reference)
    name, _, attribute = reference.partition(":")
    module = importlib.import_module(name)
    found = getattr(module, attribute, None)
    if not callable(found):
        near = difflib.get_close_matches(attribute, dir(module), n=1)
        remedy = f"did you mean {name}:{near[0]}?" if near else f"define it in {module.__file__}"
        raise FactoryError(f"{field}: {reference!r}: module {name} has no callable {attribute}", remedy)
    return found  # type: ignore[no-any-return]


_REMEDY = "run from the folder that holds it, or put that folder on PYTHONPATH"
