"""Long lists, page by page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paging:
    """Page number `page`, from 1, of `total` things."""

    page: int
    total: int
    per_page: int

    @property
    def pages(self) -> int:
        """How many pages there are, one at least."""
        return max(1, -(-self.total // self.per_page))

    @property
    def first(self) -> int:
        """Index of the first thing on the page."""
        return (self.page - 1) * self.per_page

    @property
    def last(self) -> int:
        """Index after the last thing on the page."""
        return min(self.total, self.first + self.per_page)
