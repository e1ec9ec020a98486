"""Values that pages ask for again and again, made once for as long as what they are made of stays the same."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from cachetools import LRUCache

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """Values by key, each with the version of what it was made of; from any thread.

    If there are more than `most`, those that nobody has asked for the longest go first. With `size_of` a value counts
    by its size; one that is larger than `most` counts as `most`, so the last value always stays.
    """

    def __init__(self, most: int, size_of: Callable[[Value], int] = lambda _: 1) -> None:
        self._kept: LRUCache[Hashable, tuple[Any, Value]] = LRUCache(most, lambda kept: min(size_of(kept[1]), most))
        self._lock = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}

    def peek(self, key: Hashable, version: Any) -> Value | None:
        """The value of this version if it is there."""
        with self._lock:
            known = self._kept.get(key)
        return known[1] if known and known[0] == version else None

    def get(self, key: Hashable, version: Any, make: Callable[[], Value]) -> Value:
        """The value of this version; if it is not there, one thread makes it and the others wait for that."""
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        try:
            with making:
                with self._lock:
                    known = self._kept.get(key)
                if known and known[0] == version:
                    return known[1]
                made = make()
                with self._lock:
                    self._kept[key] = (version, made)
                return made
        finally:
            with self._lock:
                self._making.pop(key, None)
