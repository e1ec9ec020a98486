"""Loss curves and the areas under them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LossPoint:
    """Mean loss over the images since the last point, at the end of its window.

    `seconds` is training time; `images` is None, and `seconds` NaN, where an imported log does not say.
    """

    step: int
    images: int | None
    seconds: float
    loss: float


@dataclass(frozen=True)
class CurveSummary:
    """What is kept of a curve beside its points; None where the curve does not have it.

    `minimum_loss` passes over values that are not numbers. The areas exist for finite losses, where the axis advances.
    """

    points: int
    finite: bool
    minimum_loss: float | None
    final_loss: float | None
    seconds: float | None
    images: int | None
    steps: int | None
    area_seconds: float | None
    area_images: float | None
    area_steps: float | None


def integral(positions: Sequence[float], losses: Sequence[float]) -> float:
    """Integral of the loss from position zero to the last, in units of loss times position; exactly rounded summation.

    The first loss counts for the whole stretch from zero to its position; after it comes the trapezoid rule. A curve
    that begins below zero is integrated from its first position. NaN where the sum leaves the range of a double.
    """
    first = max(0.0, positions[0]) * losses[0] if positions else 0.0
    pairs = zip(positions, positions[1:], losses, losses[1:], strict=False)
    stretches = ((right - left) * (before / 2 + after / 2) for left, right, before, after in pairs)
    try:
        return math.fsum((first, *stretches))
    except (OverflowError, ValueError):  # what fsum makes of partial sums beyond the range, of one sign or of both
        return math.nan


def area(points: Sequence[LossPoint], over: str = "seconds") -> float | None:
    """Area under the curve over "seconds", "images" or "steps", from zero to the last point (see `integral`).

    None for a curve without extent, for a loss or an area that is not finite, and where the axis is not known.
    """
    attribute = {"seconds": "seconds", "images": "images", "steps": "step"}[over]
    positions = [getattr(point, attribute) for point in points]
    losses = [point.loss for point in points]
    if (
        not points
        or not all(one is not None and one == one for one in positions)
        or not all(map(math.isfinite, losses))
    ):
        return None
    if positions[-1] <= min(0.0, positions[0]):
        return None
    total = integral(positions, losses)
    return total if math.isfinite(total) else None


def minimum_loss(points: Sequence[LossPoint]) -> float | None:
    """The smallest loss that is a number, wherever it stands; None where there is none."""
    return min((point.loss for point in points if not math.isnan(point.loss)), default=None)


def summarize(points: Sequence[LossPoint]) -> CurveSummary:
    """All that lists, heatmaps and rankings need of a curve."""
    last = points[-1] if points else None
    return CurveSummary(
        points=len(points),
        finite=all(math.isfinite(point.loss) for point in points),
        minimum_loss=minimum_loss(points),
        final_loss=last.loss if last else None,
        seconds=last.seconds if last and not math.isnan(last.seconds) else None,
        images=last.images if last else None,
        steps=last.step if last else None,
        area_seconds=area(points, "seconds"),
        area_images=area(points, "images"),
        area_steps=area(points, "steps"),
    )
