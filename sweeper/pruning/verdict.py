"""What those who prune answer."""

from __future__ import annotations

from typing import Protocol


class Verdict(Protocol):
    """Why a trial is to be stopped, in words; `bound` is the area that it would have, or at least have."""

    @property
    def bound(self) -> float:
        """In units of loss times those of the axis."""

    def __str__(self) -> str: ...
