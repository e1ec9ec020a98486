"""`reuse: equivalent`: one training run for all trials of one curve, and the others' times by short runs of their own.

Trials whose curves are the same over steps make a class (`sweeper.plan.equivalence`). Those whose steps take the same
time make a cell: they have one worker count, batch size and whatever else the time of a step depends on. First a trial
of each cell runs for as long as it takes to know the time of its steps. Then of each class the trial of the fastest
cell runs on, and is pruned only when all of its class could be. When it has come to its end, the others get its losses,
at the times of their own steps.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any

from sweeper.guides.base import Derived, Enough, Guide, GuideAround, has_ended_with
from sweeper.plan.equivalence import Equivalence
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate
from sweeper.ranking.area_bound import Verdict
from sweeper.ranking.curve import LossPoint

_FEWEST_WINDOWS, _MOST_WINDOWS = 5, 60  # that tell the time of a step
_SURE = 0.005  # relative deviation of that time's mean, at which it is known well enough


@dataclass
class _Run:
    """A run of a trial: the points so far, and whether it is only for the time of its steps."""

    timing: bool
    points: list[LossPoint] = field(default_factory=list)
    told: dict[str, int] = field(default_factory=dict)  # points that were told of each trial of the class
    verdicts: dict[str, Verdict] = field(default_factory=dict)


class SharedCurves(GuideAround):
    """Another guide, whose trials share runs; `curve_of` gives the points of a trial that ran.

    What is known of a trial that others run is its state alone: it keeps those of its class and cell waiting.
    """

    def __init__(
        self,
        inner: Guide,
        over: str,
        equivalences: Mapping[str, Equivalence],
        curve_of: Callable[[str], Sequence[LossPoint]],
    ) -> None:
        super().__init__(inner, over)
        self._equivalences, self._curve_of = equivalences, curve_of
        self._classes: dict[Hashable, list[str]] = {}
        for trial, one in equivalences.items():
            if one.curve is not None:
                self._classes.setdefault(one.curve, []).append(trial)
        self._paces: dict[Hashable, float] = {}  # seconds a step, by cell
        self._ended: dict[str, TrialState] = {}
        self._sources: dict[Hashable, str] = {}  # by class, the trial that has run to its end
        self._runs: dict[str, _Run] = {}
        self._times_only: set[str] = set()  # trials that run, or may be started, for no more than that
        self._barred: Collection[int] = ()
        self._verdicts: dict[str, str] = {}  # of trials that need not run, since nobody of their class need

    def recall(self, trial: str) -> None:
        """A trial that waits was begun before: what its points say of its cell's steps is used."""
        if trial in self._equivalences:
            self._time(trial, self._curve_of(trial))

    def ordered(self, waiting: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """One of each cell whose time nobody knows, then one of each class, in the order of the other guide."""
        for trial in waiting:
            self._runs.pop(trial, None)  # an earlier attempt at it
        timers = self._timers(waiting)
        self._times_only = (self._times_only - waiting.keys()) | set(timers)
        runners = {trial: waiting[trial] for trial in waiting if trial not in timers and self._may_run(trial, waiting)}
        return [*timers, *self._inner.ordered(runners)]

    def bar(self, workers: Collection[int]) -> None:
        """See `Guide.bar`: nobody is to wait for a trial that will not run."""
        self._barred = workers
        super().bar(workers)

    def begin(self, trial: str, steps: int | None, images: int | None) -> None:
        """See `Guide.begin`; so begin all of the class that have not ended."""
        run = self._runs[trial] = _Run(trial in self._times_only)
        if not run.timing:
            for other in self._open(trial):
                self._inner.begin(other, steps, images)

    def point(self, trial: str, point: LossPoint) -> Verdict | None:
        """See `Guide.point`; the verdict on a run is there when there is one on each trial of its class."""
        run = self._runs.get(trial)
        if run is None or trial not in self._equivalences:
            return self._inner.point(trial, point)
        run.points.append(point)
        self._time(trial, run.points)
        if run.timing:
            return Enough("the time of its steps is known") if self._is_timed(trial) else None
        members = self._open(trial)
        for other in members:
            self._tell(run, trial, other)
        if not all(other in run.verdicts for other in members):
            return None
        self._verdicts |= {other: f"{run.verdicts[other]} (by the curve of trial {trial})" for other in members}
        return run.verdicts[trial]

    def failed(self, trial: str) -> None:
        """See `Guide.failed`."""
        self._runs.pop(trial, None)
        for other in self._open(trial):
            self._inner.failed(other)

    def given_up(self, waiting: Mapping[str, Mapping[str, Any]]) -> Mapping[str, str]:
        """See `Guide.given_up`."""
        pruned = {
            trial: self._verdicts[trial]
            for trial in waiting
            if trial in self._verdicts and not self._is_running(self._equivalences[trial].curve, waiting)
        }
        rest = {trial: parameters for trial, parameters in waiting.items() if trial not in pruned}
        return {**self._inner.given_up(rest), **pruned}

    def derived(self, waiting: Iterable[str]) -> dict[str, Derived]:
        """See `Guide.derived`."""
        found: dict[str, Derived] = {}
        for trial in waiting:
            one = self._equivalences.get(trial)
            source = self._sources.get(one.curve) if one else None
            if one and source and self._is_timed(trial):
                run = self._runs.get(source)
                points = run.points if run else self._curve_of(source)
                found[trial] = Derived(source, [self._at_pace_of(trial, point) for point in points])
        return found

    def learn(self, candidates: Iterable[Candidate]) -> None:
        """See `Guide.learn`."""
        candidates = list(candidates)
        for one in candidates:
            if one.state.ended and one.trial not in self._ended and one.trial in self._equivalences:
                self._note_end(one)
        super().learn(candidates)

    def _note_end(self, candidate: Candidate) -> None:
        trial, one = candidate.trial, self._equivalences[candidate.trial]
        self._ended[trial] = candidate.state
        if candidate.derived_from or candidate.state not in (TrialState.COMPLETED, TrialState.DIVERGED):
            return
        if one.curve is not None:
            self._sources.setdefault(one.curve, trial)
        run = self._runs.get(trial)
        if run and (run.timing or not has_ended_with(run.points, candidate)):
            del self._runs[trial]
            run = None
        if not candidate.oversubscribed:
            whole = candidate.state is TrialState.COMPLETED
            self._time(trial, run.points if run else self._curve_of(trial), whole=whole)

    def _timers(self, waiting: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """A waiting trial for each cell whose time is not known and wanted, most workers first."""
        timed = {
            one.cell for trial, one in self._equivalences.items() if self._runs_now(trial, waiting)
        } | self._paces.keys()
        timers: dict[Hashable, str] = {}
        for trial in waiting:
            one = self._equivalences.get(trial)
            if one and one.workers in self._barred:
                continue
            if one and one.cell not in timed and len(self._classes.get(one.curve, ())) > 1:
                timers.setdefault(one.cell, trial)
        return sorted(timers.values(), key=lambda trial: -self._equivalences[trial].workers)

    def _may_run(self, trial: str, waiting: Mapping[str, Mapping[str, Any]]) -> bool:
        """Whether a waiting trial is the one of its class to run to the end."""
        one = self._equivalences.get(trial)
        if one is None or one.curve is None:
            return True
        if one.curve in self._sources or self._is_running(one.curve, waiting):
            return False
        return trial == min((t for t in self._classes[one.curve] if t in waiting), key=self._seconds_a_step)

    def _seconds_a_step(self, trial: str) -> tuple[bool, float, int]:
        """By which the fastest of a class is found: all take as many steps. Unknown, most workers count as fastest."""
        one = self._equivalences[trial]
        return (one.workers in self._barred, self._paces.get(one.cell, 0.0), -one.workers)

    def _is_running(self, curve: Hashable, waiting: Mapping[str, Mapping[str, Any]]) -> bool:
        return any(self._runs_now(t, waiting) and not self._only_times(t) for t in self._classes.get(curve, ()))

    def _only_times(self, trial: str) -> bool:
        run = self._runs.get(trial)
        return run.timing if run else trial in self._times_only

    def _runs_now(self, trial: str, waiting: Mapping[str, Mapping[str, Any]]) -> bool:
        return trial not in waiting and trial not in self._ended

    def _open(self, trial: str) -> list[str]:
        """A trial, and those of its class that have not ended."""
        one = self._equivalences.get(trial)
        members = self._classes.get(one.curve, [trial]) if one else [trial]
        return [other for other in members if other == trial or other not in self._ended]

    def _tell(self, run: _Run, trial: str, other: str) -> None:
        """Have the other guide judge a trial of the class by what this run has shown since it was last told."""
        if other in run.verdicts or (other != trial and not self._is_timed(other)):
            return
        for point in run.points[run.told.get(other, 0) :]:
            verdict = self._inner.point(other, point if other == trial else self._at_pace_of(other, point))
            if verdict:
                run.verdicts[other] = verdict
                break
        run.told[other] = len(run.points)

    def _at_pace_of(self, trial: str, point: LossPoint) -> LossPoint:
        pace = self._paces[self._equivalences[trial].cell]
        return LossPoint(point.step, point.images, point.step * pace, point.loss)

    def _is_timed(self, trial: str) -> bool:
        return self._equivalences[trial].cell in self._paces

    def _time(self, trial: str, points: Sequence[LossPoint], *, whole: bool = False) -> None:
        """Learn the time of a cell's steps from the points of a run: the mean over its windows but the first.

        Of one that is not `whole`, only once the deviation of that mean is small.
        """
        cell, windows = self._equivalences[trial].cell, len(points) - 1
        # What is known stays: runs were pruned by it.
        if cell in self._paces or windows < (1 if whole else _FEWEST_WINDOWS):
            return
        if not whole and windows < _MOST_WINDOWS:
            paces = [(b.seconds - a.seconds) / max(1, b.step - a.step) for a, b in itertools.pairwise(points)]
            mean = fmean(paces)
            if mean <= 0 or stdev(paces) / math.sqrt(windows) > _SURE * mean:
                return
        seconds = points[-1].seconds - points[0].seconds
        self._paces[cell] = seconds / max(1, points[-1].step - points[0].step)
