"""What people prune by today, on the trials of a recorded sweep: Optuna's pruners, and Ray Tune's ASHA."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from benchmarks.measure import Row, installed, spread, versions
from benchmarks.recorded import Replayed, Sweep, grid_winners
from sweeper.guides import Guide
from sweeper.guides.loss_guide import LossGuide
from sweeper.guides.loss_pruner import FIRST, PARTS, Behind
from sweeper.ranking import Candidate
from sweeper.ranking.curve import LossPoint

GROUP_BY = ("workers",)
Make = Callable[[Sweep], Guide]


class RayAsha(Guide):
    """Ray Tune's ASHAScheduler with a factor of 4, one for each group, asked at each hundredth of a run.

    It decides by a trial's id and its results alone, so that no Ray is started.
    """

    over = "seconds"

    def __init__(self, sweep: Sweep, group_by: Sequence[str]) -> None:
        self._groups = {trial: tuple(one.parameters[name] for name in group_by) for trial, one in sweep.items()}
        self._schedulers: dict[Any, Any] = {}
        self._images: dict[str, int] = {}

    def begin(self, trial: str, steps: int | None, images: int | None) -> None:  # noqa: ARG002 - the images will do
        """See `Guide.begin`."""
        assert images
        self._images[trial] = images
        self._of(trial).on_trial_add(None, SimpleNamespace(trial_id=trial))

    def point(self, trial: str, point: LossPoint) -> Behind | None:
        """See `Guide.point`."""
        from ray.tune.schedulers import TrialScheduler

        assert point.images is not None
        part = PARTS * point.images // self._images[trial]
        if part < 1 or not math.isfinite(point.loss):
            return None
        result = {"training_iteration": part, "loss": point.loss}
        decision = self._of(trial).on_trial_result(None, SimpleNamespace(trial_id=trial), result)
        return Behind("ray", point.loss, f"after {part} %") if decision == TrialScheduler.STOP else None

    def learn(self, candidates: Iterable[Candidate]) -> None:
        """See `Guide.learn`; its rungs keep what they were told."""

    def _of(self, trial: str) -> Any:
        from ray.tune.schedulers import ASHAScheduler

        key = self._groups[trial]
        if key not in self._schedulers:
            self._schedulers[key] = ASHAScheduler(metric="loss", mode="min", max_t=PARTS, grace_period=FIRST)
        return self._schedulers[key]


def by_optuna(sweep: Sweep, method: str) -> Guide:
    """`prune: median` and its like, as the scheduler has it."""
    parameters: Mapping[str, Mapping[str, Any]] = {trial: one.parameters for trial, one in sweep.items()}
    return LossGuide(method, parameters, "seconds", GROUP_BY)


def by_ray(sweep: Sweep) -> Guide:
    """Ray Tune's ASHA."""
    return RayAsha(sweep, GROUP_BY)


def rivals() -> dict[str, Make]:
    """Those that are installed, by name."""
    found: dict[str, Make] = {
        f"prune: {method} (Optuna's)": partial(by_optuna, method=method) for method in ("median", "asha", "hyperband")
    }
    return found | ({"Ray Tune's ASHA": by_ray} if installed("Ray Tune", "ray.tune", "pandas", "tensorboardX") else {})


def rival_rows(name: str, sweep: Sweep, found: Sequence[Replayed], threshold: float | None) -> Iterator[Row]:
    """The seconds spent, the groups whose winner ran to its end, and by how much the chosen one's area is larger."""
    true, used, count = grid_winners(sweep, threshold, GROUP_BY), versions("optuna"), len(found)
    whole = sum(one.seconds for one in sweep.values())
    shares = [one.spent / whole for one in found]
    share = statistics.mean(shares)
    yield Row(f"{name}: share of the seconds", share, "", "grid", 1.0, share, count, spread(shares), used)
    pairs = [(one.winners.get(key), winner) for one in found for key, winner in true.items() if winner]
    kept = sum(chosen == winner for chosen, winner in pairs)
    yield Row(f"{name}: winners kept", kept, "", "all", len(pairs), kept / len(pairs), count, 0.0, used)
    # Where nobody has qualified there is no choice.
    ratios = [_area(sweep, chosen) / _area(sweep, winner) for chosen, winner in pairs if chosen]
    for what, value in (("median", statistics.median(ratios)), ("worst", max(ratios))) if ratios else ():
        name_of_row = f"{name}: area of the chosen, {what} of {len(ratios)}"
        yield Row(name_of_row, value, "", "the winner's", 1.0, value, count, spread(ratios), used)


def _area(sweep: Sweep, trial: str) -> float:
    area = sweep[trial].candidate(trial).area
    assert area is not None
    return area
