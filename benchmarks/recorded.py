"""Recorded sweeps, replayed in virtual time: what a way of pruning spends, and whom it makes the winner."""

from __future__ import annotations

import csv
import heapq
import math
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sweeper.guides import Guide
from sweeper.guides.base import Enough
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate
from sweeper.ranking.cost import over_dollars
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.ranking.settings import rank_groups


@dataclass(frozen=True)
class RecordedTrial:
    """A trial as it was recorded to its end."""

    parameters: Mapping[str, Any]
    points: Sequence[LossPoint]

    def candidate(self, trial: str, points: int | None = None, state: TrialState | None = None) -> Candidate:
        """As the ranking sees it, with so many of its points; as completed or diverged where no state is given."""
        summary = summarize(self.points[:points])
        ended = state or (TrialState.COMPLETED if summary.finite else TrialState.DIVERGED)
        known = (summary.finite, summary.area_seconds, summary.minimum_loss, summary.seconds, summary.images)
        return Candidate(trial, dict(self.parameters), ended, *known)

    @cached_property
    def length(self) -> int:
        """Points that a run of it reports: it ends with the first loss that is not finite."""
        return next((n for n, p in enumerate(self.points, 1) if not math.isfinite(p.loss)), len(self.points))

    @property
    def finite(self) -> bool:
        """Whether all losses are."""
        return math.isfinite(self.points[self.length - 1].loss)

    @property
    def seconds(self) -> float:
        """Training seconds of all its steps, also of those after a divergence."""
        return self.points[-1].seconds

    @property
    def run_seconds(self) -> float:
        """The same up to a divergence, with which a run ends."""
        return self.points[self.length - 1].seconds


Sweep = Mapping[str, RecordedTrial]


@dataclass(frozen=True)
class Replayed:
    """Training seconds `spent`, and the `winners` by group, None for nobody.

    On a machine also its `wall` time in seconds, the attempts `started` and the gangs `opened`.
    """

    spent: float
    winners: Mapping[tuple[Any, ...], str | None]
    wall: float = math.nan
    started: int = 0
    opened: int = 0


def read_recorded(folder: Path) -> dict[str, RecordedTrial]:
    """The trials of a folder: `curves.csv` by global batch and rate, `step_seconds.csv` by workers and batch size.

    With gradients averaged all trials of a global batch and a rate have one curve by steps, and a step takes as long
    whatever the rate.
    """
    curves: dict[tuple[int, float], list[tuple[int, float]]] = {}
    for row in _rows(folder / "curves.csv"):
        loss = float(row["loss"]) if row["loss"] else math.nan
        key = int(row["global_batch"]), float(row["learning_rate"])
        curves.setdefault(key, []).append((int(row["images"]), loss))
    trials = {}
    for row in _rows(folder / "step_seconds.csv"):
        workers, batch, seconds = int(row["workers"]), int(row["batch_size"]), float(row["seconds_per_step"])
        for (whole, rate), points in curves.items():
            if whole == workers * batch:
                parameters = {"workers": workers, "batch_size": batch, "learning_rate": rate}
                trials[f"{workers}-{batch}-{rate:g}"] = RecordedTrial(parameters, _timed(points, whole, seconds))
    return trials


def at_usual_paces(sweep: Sweep) -> dict[str, RecordedTrial]:
    """The same with the times of steps that are the median of their worker count and batch size.

    On a busy machine runs of one cell differ more in time than winners do.
    """
    paces: dict[Any, list[float]] = {}
    for one in sweep.values():
        paces.setdefault(_cell(one), []).append(one.points[-1].seconds / one.points[-1].step)
    usual = {cell: statistics.median(found) for cell, found in paces.items()}
    return {
        trial: RecordedTrial(one.parameters, [replace(p, seconds=p.step * usual[_cell(one)]) for p in one.points])
        for trial, one in sweep.items()
    }


def _cell(one: RecordedTrial) -> tuple[Any, Any]:
    return one.parameters["workers"], one.parameters["batch_size"]


def replay(
    sweep: Sweep,
    decides: Guide,
    threshold: float | None,
    together: int,
    seed: int,
    group_by: Sequence[str] = ("workers",),
    repeats: int = 1,
    rate: float | None = None,
) -> Replayed:
    """The sweep with so many trials at once, submitted in a random order; worker counts stay together, as in a plan.

    With `repeats` above 1 the parameter `seed` tells repeats of a setting apart; at a `rate` areas are over dollars.
    """
    replaying = _Replay(sweep, decides, shuffled(sweep, seed), together)
    while replaying.running or replaying.waiting:
        replaying.go_on()
    return Replayed(replaying.spent, winners(replaying.ended, threshold, group_by, repeats, rate))


class _Replay:
    """What waits, runs and has ended, at a moment of virtual time."""

    def __init__(self, sweep: Sweep, decides: Guide, waiting: list[str], together: int) -> None:
        self._sweep, self._guide, self.waiting, self._together = sweep, decides, waiting, together
        self.running: list[tuple[float, int, str, int, float]] = []  # when its next point comes, a number, which, begun
        self.ended: list[Candidate] = []
        self.spent = self._now = 0.0
        self._number = 0
        self._fill()

    def go_on(self) -> None:
        """The next point of any trial, and what follows from it."""
        self._now, _, trial, at, begun = heapq.heappop(self.running)
        one = self._sweep[trial]
        verdict = self._guide.point(trial, one.points[at])
        if verdict is None and at + 1 < one.length:
            self._push(begun + one.points[at + 1].seconds, trial, at + 1, begun)
            return
        self.spent += one.points[at].seconds
        if isinstance(verdict, Enough) and at + 1 < one.length:
            self.waiting.append(trial)
        else:
            self._end(one.candidate(trial, at + 1, TrialState.PRUNED if at + 1 < one.length else None))
        self._fill()

    def _fill(self) -> None:
        self._settle()
        while self.waiting and len(self.running) < self._together:
            ordered = self._guide.ordered(self._parameters())
            if not ordered:
                return
            self.waiting.remove(ordered[0])
            points = self._sweep[ordered[0]].points
            self._guide.begin(ordered[0], points[-1].step, points[-1].images)
            self._push(self._now + points[0].seconds, ordered[0], 0, self._now)

    def _settle(self) -> None:
        """End what need not run."""
        for trial, derived in self._guide.derived(list(self.waiting)).items():
            self.waiting.remove(trial)
            one = RecordedTrial(self._sweep[trial].parameters, derived.points).candidate(trial)
            self._end(one._replace(derived_from=derived.source))
        for trial in self._guide.given_up(self._parameters()):
            self.waiting.remove(trial)
            self._end(self._sweep[trial].candidate(trial, 0, TrialState.PRUNED))

    def _parameters(self) -> dict[str, Mapping[str, Any]]:
        return {trial: self._sweep[trial].parameters for trial in self.waiting}

    def _end(self, candidate: Candidate) -> None:
        self.ended.append(candidate)
        self._guide.learn([candidate])

    def _push(self, when: float, trial: str, at: int, begun: float) -> None:
        self._number += 1
        heapq.heappush(self.running, (when, self._number, trial, at, begun))


def grid_winners(
    sweep: Sweep,
    threshold: float | None,
    group_by: Sequence[str] = ("workers",),
    repeats: int = 1,
    rate: float | None = None,
) -> dict[Any, str | None]:
    """Who wins when every trial runs to its end."""
    return winners([one.candidate(trial) for trial, one in sweep.items()], threshold, group_by, repeats, rate)


def winners(
    candidates: Sequence[Candidate],
    threshold: float | None,
    group_by: Sequence[str],
    repeats: int = 1,
    rate: float | None = None,
) -> dict[Any, str | None]:
    """The winner of each group by its values; of a setting its first trial."""
    if rate is not None:
        candidates = [over_dollars(candidate, rate) for candidate in candidates]
    groups = rank_groups(candidates, threshold, group_by, repeats)
    return {tuple(group.key.values()): group.winner.trial if group.winner else None for group in groups}


def shuffled(sweep: Sweep, seed: int) -> list[str]:
    """All trials in a random order, those of a worker count together."""
    order = random.Random(seed)
    by_workers: dict[Any, list[str]] = {}
    for trial, one in sweep.items():
        by_workers.setdefault(one.parameters.get("workers"), []).append(trial)
    counts = list(by_workers)
    order.shuffle(counts)
    for block in by_workers.values():
        order.shuffle(block)
    return [trial for count in counts for trial in by_workers[count]]


def _timed(points: Sequence[tuple[int, float]], whole: int, seconds: float) -> list[LossPoint]:
    steps = [math.ceil(images / whole) for images, _ in points]
    return [LossPoint(n, images, n * seconds, loss) for n, (images, loss) in zip(steps, points, strict=True)]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
