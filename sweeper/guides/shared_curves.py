"""`reuse: equivalent`: one training run for all trials of one curve, and the others' times by short runs of their own.

Trials whose curves are the same over steps make a class (`sweeper.plan.equivalence`). Those whose steps take the same
time make a cell: they have one worker count, batch size and whatever else the time of a step depends on.

The most workers come first, so that each worker count's gangs open once. Of each class the trial runs that has the most
workers, or the fastest steps where all are known. It is pruned when it and all of its class whose steps are timed could
be; the others wait. When their worker count's turn comes, a trial of each cell runs for as long as it takes to know the
time of its steps, unless one has to run anyway. Then they get the losses of a run that came to its end, at the times of
their own steps; or are pruned by those of one that was stopped; or run, where that one does not tell.
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
from sweeper.spec.axes import WORKERS

_FEWEST_WINDOWS, _MOST_WINDOWS = 5, 60  # that tell the time of a step
_SURE = 0.005  # relative deviation of that time's mean, at which it is known well enough
_MOST_PART = 0.2  # of a run, for which it is timed at most


@dataclass
class _Run:
    """A run of a trial: the points so far, and whether it is only for the time of its steps."""

    timing: bool
    steps: int | None = None  # of all of it
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
        self._stopped: dict[Hashable, str] = {}  # by class, the trial that was stopped last
        self._runs: dict[str, _Run] = {}
        self._times_only: set[str] = set()  # trials that run, or may be started, for no more than that
        self._barred: Collection[int] = ()
        self._verdicts: dict[str, str] = {}  # of trials that need not run, since nobody of their class need

    def recall(self, trial: str) -> None:
        """A trial that waits was begun before: what its points say of its cell's steps is used."""
        if trial in self._equivalences:
            self._time(trial, self._curve_of(trial))

    def ordered(self, waiting: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Worker count after worker count, the most first: those that are to be timed, then one of each class.

        Of each worker count the latter are in the order of the other guide.
        """
        for trial in waiting:
            self._runs.pop(trial, None)  # an earlier attempt at it
        by_workers = sorted(waiting, key=lambda trial: -self._workers(trial, waiting))
        may_run = [trial for trial in by_workers if self._may_run(trial, waiting)]
        timers = self._timers(waiting, may_run)
        self._times_only = (self._times_only - waiting.keys()) | set(timers)
        runners = self._inner.ordered({trial: waiting[trial] for trial in may_run if trial not in timers})
        return sorted([*timers, *runners], key=lambda trial: -self._workers(trial, waiting))

    def bar(self, workers: Collection[int]) -> None:
        """See `Guide.bar`: nobody is to wait for a trial that will not run."""
        self._barred = workers
        super().bar(workers)

    def begin(self, trial: str, steps: int | None, images: int | None) -> None:
        """See `Guide.begin`; so begin all of the class that have not ended."""
        run = self._runs[trial] = _Run(trial in self._times_only, steps)
        if not run.timing:
            for other in self._open(trial):
                self._inner.begin(other, steps, images)

    def point(self, trial: str, point: LossPoint) -> Verdict | None:
        """See `Guide.point`; the verdict on a run is there when there is one on each of its class that is timed."""
        run = self._runs.get(trial)
        if run is None or trial not in self._equivalences:
            return self._inner.point(trial, point)
        run.points.append(point)
        self._time(trial, run.points, steps=run.steps)
        if run.timing:
            return Enough("the time of its steps is known") if self._is_timed(trial) else None
        members = [other for other in self._open(trial) if other == trial or self._is_timed(other)]
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
        self._judge_by_what_was_stopped(waiting)
        pruned = {
            trial: self._verdicts[trial]
            for trial in waiting
            if trial in self._verdicts and not self._is_running(self._equivalences[trial].curve, waiting)
        }
        rest = {trial: parameters for trial, parameters in waiting.items() if trial not in pruned}
        return {**self._inner.given_up(rest), **pruned}

    def _judge_by_what_was_stopped(self, waiting: Mapping[str, Mapping[str, Any]]) -> None:
        """Tell the other guide of waiting trials what the stopped runs of their classes would have been for them.

        A worker count's trials only when all their cells are timed that can be, so that there is somebody to beat.
        """
        untimed = {self._equivalences[trial].workers for trial in self._to_time(waiting)}
        for trial in waiting:
            one = self._equivalences.get(trial)
            source = self._stopped.get(one.curve) if one else None
            run = self._runs.get(source) if source else None
            if one and source and run and one.workers not in untimed and self._is_timed(trial):
                self._tell(run, source, trial)
                if trial in run.verdicts:
                    self._verdicts[trial] = f"{run.verdicts[trial]} (by the curve of trial {source})"

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
        if candidate.state is TrialState.PRUNED and trial in self._runs and one.curve is not None:
            self._stopped[one.curve] = trial
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

    def _timers(self, waiting: Mapping[str, Mapping[str, Any]], runners: Sequence[str]) -> list[str]:
        """A waiting trial for each cell that is to be timed and has no runner, which would time it as well."""
        run_anyway = {self._equivalences[trial].cell for trial in runners if trial in self._equivalences}
        timers: dict[Hashable, str] = {}
        for trial in self._to_time(waiting):
            cell = self._equivalences[trial].cell
            if cell not in run_anyway:
                timers.setdefault(cell, trial)
        return list(timers.values())

    def _to_time(self, waiting: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """The waiting trials that others of their classes have run for, and whose steps nobody has timed or times."""
        timed = {
            one.cell for trial, one in self._equivalences.items() if self._runs_now(trial, waiting)
        } | self._paces.keys()
        return [
            trial
            for trial in waiting
            if (one := self._equivalences.get(trial))
            and one.workers not in self._barred
            and one.cell not in timed
            and (one.curve in self._sources or one.curve in self._stopped)
        ]

    def _may_run(self, trial: str, waiting: Mapping[str, Mapping[str, Any]]) -> bool:
        """Whether a waiting trial is the one of its class to run to the end."""
        one = self._equivalences.get(trial)
        if one is None or one.curve is None:
            return True
        if one.curve in self._sources or self._is_running(one.curve, waiting):
            return False
        if one.curve in self._stopped and not self._is_timed(trial):
            return False  # what was stopped may tell enough of it
        members = [t for t in self._classes[one.curve] if t in waiting]
        known = all(map(self._is_timed, members))
        return trial == min(members, key=self._seconds_a_step if known else self._fewer_workers)

    def _seconds_a_step(self, trial: str) -> tuple[bool, float, int]:
        """By which the fastest of a class is found: all take as many steps."""
        one = self._equivalences[trial]
        return (one.workers in self._barred, self._paces[one.cell], -one.workers)

    def _fewer_workers(self, trial: str) -> tuple[bool, int]:
        """The same while the steps of some are not known: most workers count as fastest."""
        one = self._equivalences[trial]
        return (one.workers in self._barred, -one.workers)

    def _workers(self, trial: str, waiting: Mapping[str, Mapping[str, Any]]) -> int:
        one = self._equivalences.get(trial)
        return one.workers if one else int(waiting[trial].get(WORKERS, 1))

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

    def _time(self, trial: str, points: Sequence[LossPoint], *, steps: int | None = None, whole: bool = False) -> None:
        """Learn the time of a cell's steps from the points of a run: the mean over its windows but the first.

        Of one that is not `whole`, and has so many `steps` in all, only once the deviation of that mean is small, or
        a good part of the run is over.
        """
        cell, windows = self._equivalences[trial].cell, len(points) - 1
        # What is known stays: runs were pruned by it.
        if cell in self._paces or windows < (1 if whole else _FEWEST_WINDOWS):
            return
        is_long = windows >= _MOST_WINDOWS or (steps is not None and points[-1].step >= _MOST_PART * steps)
        if not whole and not is_long:
            paces = [(b.seconds - a.seconds) / max(1, b.step - a.step) for a, b in itertools.pairwise(points)]
            mean = fmean(paces)
            if mean <= 0 or stdev(paces) / math.sqrt(windows) > _SURE * mean:
                return
        seconds = points[-1].seconds - points[0].seconds
        self._paces[cell] = seconds / max(1, points[-1].step - points[0].step)
