"""How long a run trains: its images and steps, and when it reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Budget:
    """`images` seen in all, `batch` images of a full step of all workers, `points` of the loss curve aimed at.

    The last step takes what is left of the images.
    """

    images: int
    batch: int
    points: int | Literal["all"]

    @property
    def steps(self) -> int:
        """Steps, with one that is not full."""
        return -(-self.images // self.batch)

    @property
    def full_steps(self) -> int:
        """Steps of a whole batch."""
        return self.images // self.batch

    @property
    def report_every(self) -> int:
        """Steps between two loss points, so that runs of any batch size have about `points` of them."""
        return 1 if self.points == "all" else max(1, round(self.images / self.points / self.batch))

    def images_after(self, step: int) -> int:
        """Images that all workers have seen when step number `step`, from 0, is done."""
        return min((step + 1) * self.batch, self.images)
