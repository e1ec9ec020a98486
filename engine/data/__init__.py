"""Data sets by name; `engine.config.DATA` lists the names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.config import DATA, is_factory
from engine.data import cifar10, digits, fashion_mnist, synthetic
from engine.data.base import DataSet
from engine.errors import DataError
from engine.factories import FactoryError, find_factory

__all__ = ["DataSet", "fetch", "has_files", "is_here", "load"]

# Data sets of files, with what tells where they lie; the others are made up or inside a library.
_ON_DISK: dict[str, Callable[[], Path | None]] = {
    fashion_mnist.NAME: fashion_mnist.locate,
    cifar10.NAME: cifar10.locate,
}
_LOADERS: dict[str, Callable[[str], DataSet]] = {
    fashion_mnist.NAME: fashion_mnist.load,
    cifar10.NAME: cifar10.load,
    digits.NAME: digits.load,
    synthetic.PICTURES: synthetic.load_pictures,
    synthetic.LARGE_PICTURES: synthetic.load_large_pictures,
    synthetic.STEP_FUNCTION: synthetic.load_step_function,
}
assert _LOADERS.keys() == DATA.keys()


def has_files(name: str) -> bool:
    """Whether a data set is made of files, which each machine must have."""
    return name in _ON_DISK


def is_here(name: str) -> bool:
    """Whether a data set can be loaded without fetching anything."""
    return not has_files(name) or _ON_DISK[name]() is not None


def fetch(name: str, split: str = "train") -> None:
    """Have the files of a split on this machine, decoded; nothing is done for a data set that has no files.

    Raises:
        DataError: they are nowhere, cannot be fetched, or are damaged.
    """
    if has_files(name):
        load(name, split)


def load(name: str, split: str = "train") -> DataSet:
    """The "train" or "test" split of a data set; of the user's own what `factory(split)` gives.

    Raises:
        DataError: there is no such data set, or its files are nowhere.
        FactoryError: a data set of the user's own cannot be had, or is none.
    """
    if is_factory(name):
        made = find_factory("trial.data", name)(split)
        if not isinstance(made, DataSet):
            raise FactoryError(f"trial.data: {name!r} gave a {type(made).__name__}", "return an engine.data.DataSet")
        return made
    if name not in _LOADERS:
        raise DataError(f"data {name!r} is not known", f"use one of {', '.join(_LOADERS)}")
    return _LOADERS[name](split)
