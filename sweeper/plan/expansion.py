"""From a spec to its trials: pure, the same list for the same spec, ids from content."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from typing import Any, TypeAlias, overload

from engine.budget import Budget
from engine.config import INDEPENDENT, SAMPLES, TrainingConfig
from sweeper.errors import SpecError
from sweeper.plan.making import trial_at
from sweeper.plan.trial import TrialSpec
from sweeper.plan.written import Writer, WrittenTrial
from sweeper.spec import SweepSpec
from sweeper.spec.axes import WORKERS
from sweeper.spec.dimensions import Choices
from sweeper.spec.repeats import Race, planned_seeds

Sampler: TypeAlias = Callable[[SweepSpec], Iterable[Mapping[str, Any]]]  # the points that a search begins with

MAXIMUM_TRIALS = 100_000
_MOST_OUTERMOST = 4000


class PlannedTrials(Sequence[TrialSpec]):
    """The trials of points, each with its repeats. A trial is made when it is asked for, and not kept."""

    def __init__(self, spec: SweepSpec, points: Sequence[Mapping[str, Any]] | None = None) -> None:
        """Those of a grid, unless `points` are given.

        Raises:
            SpecError: a combination that cannot be trained.
        """
        self._spec, self._points = spec, points
        self._repeats = planned_seeds(spec.repeats)
        try:
            self.kinds = self._checked()
        except SpecError:
            for _ in self:  # the first one that cannot be trained says so
                pass
            raise

    def __len__(self) -> int:
        return self._repeats * (self._spec.size if self._points is None else len(self._points))

    def __iter__(self) -> Iterator[TrialSpec]:
        return (trial_at(self._spec, *one) for one in self._each())

    @overload
    def __getitem__(self, place: int) -> TrialSpec: ...

    @overload
    def __getitem__(self, place: slice) -> list[TrialSpec]: ...

    def __getitem__(self, place: int | slice) -> TrialSpec | list[TrialSpec]:
        found = range(len(self))[place]
        if isinstance(found, int):
            return next(trial_at(self._spec, *one) for one in itertools.islice(self._each(), found, None))
        each = list(self._each())
        return [trial_at(self._spec, *each[number]) for number in found]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(operator.eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    def written(self) -> Iterator[WrittenTrial]:
        """The trials as a store writes them, without making each."""
        writer = Writer(self._spec)
        return (writer.written(*one) for one in self._each())

    def _each(self) -> Iterator[tuple[Mapping[str, Any], int]]:
        points = self._spec.points() if self._points is None else self._points
        return ((point, repeat) for point in points for repeat in range(self._repeats))

    def _checked(self) -> Sequence[TrialSpec]:
        """Trials that stand for all: the others differ from them in independent numbers alone, each of which is right.

        Raises:
            SpecError: a combination that cannot be trained; not always the first one.
        """
        writer, found = Writer(self._spec), dict[object, TrialSpec]()
        points = self._spec.points(INDEPENDENT) if self._points is None else self._points
        for point in points:
            kind = writer.kind(point, self._repeats - 1)
            if kind not in found:
                found[kind] = trial_at(self._spec, point, 0)
        if self._points is None:
            writer.check(self._spec.axes)
        return list(found.values())


def plan(spec: SweepSpec, sampler: Sampler | None = None) -> PlannedTrials:
    """The trials that are known before any has run: all, or of a search that learns those that it begins with.

    A grid has worker counts outermost, then the fields in the order of the spec, then the repeats. The points of any
    other search come from the `sampler`: `sweeper.guides.samplers.first_points`.

    Raises:
        SpecError: a combination that cannot be trained, for example fewer images than one step takes, or too many.
        ValueError: the search is not a grid, and there is no sampler.
    """
    _check_size(spec)
    if spec.search.method != "grid":
        if sampler is None:
            raise ValueError(f"search: {spec.search.method} takes its points from a sampler, and none is given")
        outermost(spec)
        return PlannedTrials(spec, list(sampler(spec)))
    trials = PlannedTrials(spec)
    if isinstance(spec.repeats, Race):
        trial_at(spec, next(spec.points()), spec.repeats.at_most - 1)  # its seed has to be one, too
    _check_images(trials.kinds)
    return trials


def trials_at(spec: SweepSpec, points: Iterable[Mapping[str, Any]]) -> list[TrialSpec]:
    """The trials of points of the space, each with its repeats.

    Raises:
        SpecError: one cannot be trained.
    """
    return [trial_at(spec, point, repeat) for point in points for repeat in range(planned_seeds(spec.repeats))]


def outermost(spec: SweepSpec) -> list[TrialSpec]:
    """Trials that need all that any trial of a sampled space may need, though none of them may come to be run.

    They are those of the highest and the lowest numbers and all names, with each worker count.

    Raises:
        SpecError: one cannot be trained.
    """
    others = {name: one.ends() for name, one in spec.dimensions.items() if name != WORKERS}
    workers = spec.dimensions[WORKERS]
    counts = workers.values if isinstance(workers, Choices) else workers.ends()
    combined = itertools.islice(itertools.product(*others.values()), max(1, _MOST_OUTERMOST // len(counts)))
    rest = [dict(zip(others, values, strict=True)) for values in combined]
    trials = [trial_at(spec, spec.without_absent({WORKERS: count, **point}), 0) for count in counts for point in rest]
    _check_images(trials)
    return trials


def _check_size(spec: SweepSpec) -> None:
    size = spec.search.trials or planned_seeds(spec.repeats) * spec.size
    if size > MAXIMUM_TRIALS and spec.search.trials:
        raise SpecError([f"search.trials: {size} is more than {MAXIMUM_TRIALS}; take fewer"])
    if size > MAXIMUM_TRIALS:
        raise SpecError([f"space: gives {size} trials, more than {MAXIMUM_TRIALS}; take fewer values or repeats"])
    if isinstance(spec.repeats, Race) and spec.repeats.trials is not None and spec.repeats.trials < size:
        at_least, most = spec.repeats.at_least, spec.repeats.trials
        raise SpecError(
            [f"repeats.trials: {most} is less than the {size} that all settings take with {at_least} seeds; raise it"]
        )


def _check_images(planned: Iterable[TrialSpec]) -> None:
    budgets = [
        (budget, trial.workers, trial.config)
        for trial in planned
        if isinstance(trial.config, TrainingConfig) and (budget := trial.config.known_budget(trial.workers))
    ]
    if not budgets:
        return
    worst, workers, config = max(budgets, key=lambda one: Fraction(one[0].batch, one[0].images))
    if worst.images < worst.batch:
        given = f"trial.images: {worst.images} is"
        if config.epochs is not None:
            given = f"trial.epochs: {config.epochs:g} of data {config.data} are {worst.images} images,"
        raise SpecError(
            [
                f"{given} too small for one step of the largest global batch, {worst.batch} "
                f"(workers {workers}); raise it to at least {_at_least(worst, config)}, or remove that batch size or "
                "worker count"
            ]
        )


def _at_least(worst: Budget, config: TrainingConfig) -> str:
    """The smallest budget of the same kind that has a whole step; epochs rounded up to three significant digits."""
    if config.epochs is None:
        return f"{worst.batch}"
    least = Context(prec=3, rounding=ROUND_CEILING).divide(worst.batch, config.images_per_epoch(SAMPLES[config.data]))
    return f"{least.normalize():f}"
