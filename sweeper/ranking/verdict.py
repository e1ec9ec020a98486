"""What those who prune answer."""

from __future__ import annotations

from typing import Protocol


class Verdict(Protocol):
    """Why a trial is to be stopped, in words."""

    def __str__(self) -> str: ...


class AreaVerdict(Verdict, Protocol):
    """The same by its area; `bound` is the area that it would have, or at least have."""

    @property
    def bound(self) -> float:
        """In units of loss times those of the axis."""
