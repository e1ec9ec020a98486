"""What a study minimises: the thresholded area, made smooth where it does not exist.

The value of a qualified trial is log(area). Of one that is complete but does not come down to the threshold T with its
minimum loss m, it is log(worst * (1 + (m - T) / |T|)), where `worst` is the largest qualified area known: larger than
that of every qualified trial, and the smaller the nearer the curve comes. So a study that has not met a qualified trial
yet still learns which way is down. A pruned trial counts as the area that it would have come to at its pace, its area
over the part of the images that it has seen, and at least the best one known, which is why it was stopped. What
diverged, or has no area, is worse than all others by a factor of two. Where some area is not above zero, which takes
negative losses, areas and penalties are taken as they are and not by their logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate, qualifies

_WORSE = math.log(2.0)
_LEAST_SCALE = 1e-12  # of a threshold of zero


def objective_values(
    candidates: Sequence[Candidate],
    threshold: float | None,
    whole_images: Mapping[str, int],
    *,
    relative: bool = False,
) -> dict[str, float]:
    """The value of each trial of a group that tells something, by its id; `whole_images` has those of a whole run.

    Trials that have failed, were cancelled, have not ended, or have no area since they were oversubscribed, tell
    nothing. With `relative` the value of the best is 0: that is what groups have in common whose trials take
    different times.
    """
    areas = [c.area for c in candidates if qualifies(c, threshold) and c.area is not None]
    logarithms = all(area > 0 for area in areas)
    scaled = [math.log(area) if logarithms else area for area in areas]
    best, worst = min(scaled, default=None), max(scaled, default=0.0)
    found: dict[str, float] = {}
    hopeless: list[str] = []
    for candidate in candidates:
        if not _tells(candidate):
            continue
        value = _value(candidate, threshold, best, worst, logarithms, whole_images.get(candidate.trial))
        if value is None:
            hopeless.append(candidate.trial)
        else:
            found[candidate.trial] = value
    last = max(found.values(), default=0.0) + _WORSE
    found |= dict.fromkeys(hopeless, last)
    return {trial: value - best for trial, value in found.items()} if relative and best is not None else found


def _tells(candidate: Candidate) -> bool:
    if candidate.state not in (TrialState.COMPLETED, TrialState.DIVERGED, TrialState.PRUNED):
        return False
    return candidate.area is not None or not (candidate.complete and candidate.oversubscribed)


def _value(
    candidate: Candidate,
    threshold: float | None,
    best: float | None,
    worst: float,
    logarithms: bool,  # of areas are told, and not these themselves
    whole_images: int | None,
) -> float | None:
    """None where it is as bad as can be."""
    area, loss = candidate.area, candidate.minimum_loss
    if candidate.state is TrialState.PRUNED:
        return _of_pruned(candidate, best, worst, logarithms, whole_images)
    if candidate.state is TrialState.DIVERGED or not candidate.finite or area is None or not math.isfinite(area):
        return None
    if qualifies(candidate, threshold):
        return math.log(area) if logarithms else area
    assert threshold is not None
    if loss is None or not math.isfinite(loss):
        return None
    excess = (loss - threshold) / max(abs(threshold), _LEAST_SCALE)
    return worst + (math.log1p(excess) if logarithms else excess)


def _of_pruned(
    candidate: Candidate, best: float | None, worst: float, logarithms: bool, whole_images: int | None
) -> float:
    area, part = candidate.area, (candidate.images or 0) / (whole_images or math.inf)
    if area is None or not math.isfinite(area) or not 0 < part <= 1 or (logarithms and area <= 0):
        return worst
    value = math.log(area / part) if logarithms else area / part
    return value if best is None else max(value, best)
