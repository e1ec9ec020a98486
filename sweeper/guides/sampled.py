"""The guide of a sweep that searches: another one's order and pruning, and the next points by a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeAlias

from engine.config import BATCH_SIZES, BUDGETS, TrainingConfig
from sweeper.errors import SpecError
from sweeper.guides.base import Guide, GuideAround
from sweeper.guides.samplers.objective import objective_values
from sweeper.guides.samplers.points import sample, shares
from sweeper.plan import trials_at
from sweeper.plan.trial import TrialSpec
from sweeper.ranking import Candidate, Key, group_key
from sweeper.ranking.cost import over_dollars, stored_axis
from sweeper.spec import DOLLARS, SweepSpec, replace_field
from sweeper.spec.axes import WORKERS
from sweeper.spec.conditions import Point
from sweeper.spec.repeats import Race, planned_seeds

if TYPE_CHECKING:
    from sweeper.guides.samplers.study import Known

Values: TypeAlias = tuple[Any, ...]

_OF_LENGTH = (*BATCH_SIZES, *BUDGETS)  # fields on which the images of a run depend
_TRIES = 3  # of the study, at a point that is not there yet and can be trained


class ProposingGuide(GuideAround):
    """Proposes points until each group has its share of the trials, group after group as gangs stay warm then.

    What is known are all trials of the sweep, in the order in which they were added, whoever has run them.
    """

    def __init__(self, guide: Guide, spec: SweepSpec, candidates: Iterable[Candidate]) -> None:
        super().__init__(guide, stored_axis(spec.objective.over))
        self.proposes = True
        self._spec, self.most = spec, spec.search.trials
        self._seeds = planned_seeds(spec.repeats)
        self._known: dict[str, Candidate] = {}
        self.learn(candidates)

    def learn(self, candidates: Iterable[Candidate]) -> None:
        """See `Guide.learn`; of those that have not ended it learns that they are there."""
        candidates = list(candidates)
        super().learn(candidates)
        rate = self._spec.resources.dollars_per_worker_hour
        if self._spec.objective.over == DOLLARS and rate is not None:
            candidates = [over_dollars(candidate, rate) for candidate in candidates]
        self._known |= {candidate.trial: candidate for candidate in candidates}

    def propose(self) -> Sequence[TrialSpec]:
        """See `Guide.propose`: the trials of one point, one for each of its repeats."""
        assert self.most is not None
        counted = Counter(self._point_of(candidate) for candidate in self._known.values())
        if self._spent(counted) + self._seeds > self.most:
            return ()
        taken = set(counted)
        for number, (group, share) in enumerate(shares(self._spec)):
            members = [point for point in taken if self._is_in(point, group)]
            if len(members) < share and (trials := self._new_trials(group, number, taken)):
                return trials
        return ()

    def _spent(self, counted: Mapping[Values, int]) -> int:
        """Trials that count for `search.trials`: seeds that were added later, but for a race's, do not."""
        if isinstance(self._spec.repeats, Race):
            return sum(counted.values())
        return sum(min(count, self._seeds) for count in counted.values())

    def _point_of(self, candidate: Candidate) -> Values:
        return tuple(candidate.parameters.get(name) for name in self._spec.dimensions)

    def _is_in(self, point: Values, group: Point) -> bool:
        return group.items() <= dict(zip(self._spec.dimensions, point, strict=True)).items()

    def _new_trials(self, group: Point, number: int, taken: set[Values]) -> Sequence[TrialSpec]:
        """Those of the first point that is thought of, is not there yet and can be trained; none where all are."""
        for point in self._points(group, number, len(taken)):
            if tuple(point.values()) not in taken:
                with suppress(SpecError):  # settings that do not go together
                    return trials_at(self._spec, [point])
        return ()

    def _points(self, group: Point, number: int, taken: int) -> Iterator[Point]:
        """What the study says, and after a few times of which nothing came, any points of the group."""
        from sweeper.guides.samplers.study import ask  # loads Optuna

        spec, known = self._spec, self._told()
        search = spec.search
        for attempt in range(_TRIES):
            yield ask(search, spec.dimensions, spec.conditions, known, group, [search.seed, number, attempt])
        yield from sample(self._spec, group, taken + _TRIES, [search.seed, number, taken])

    def _told(self) -> list[Known]:
        """The points of the sweep in the order in which they were added, each with the mean value of its repeats."""
        from sweeper.guides.samplers.study import Known

        values = self._values()
        trials: dict[Values, list[Candidate]] = {}
        for candidate in sorted(self._known.values(), key=lambda candidate: candidate.position):
            trials.setdefault(self._point_of(candidate), []).append(candidate)
        return [
            Known(
                point=dict(zip(self._spec.dimensions, point, strict=True)),
                value=fmean(told) if (told := [values[c.trial] for c in those if c.trial in values]) else None,
                ended=all(candidate.state.ended for candidate in those),
            )
            for point, those in trials.items()
        ]

    def _values(self) -> dict[str, float]:
        objective, shared = self._spec.objective, self._spec.search.study == "shared"
        groups: dict[Key, list[Candidate]] = {}
        for candidate in self._known.values():
            groups.setdefault(group_key(candidate.parameters, objective.group_by), []).append(candidate)
        values: dict[str, float] = {}
        for members in groups.values():
            images = {c.trial: whole for c in members if (whole := self._images(c)) is not None}
            values |= objective_values(members, objective.threshold, images, relative=shared)
        return values

    def _images(self, candidate: Candidate) -> int | None:
        """Images of a whole run; None where that is not known, for example of a command."""
        trial = self._spec.trial
        if not isinstance(trial, TrainingConfig):
            return None
        if trial.images is not None and not candidate.parameters.keys() & set(BUDGETS):
            return trial.images
        lengths = {name: candidate.parameters[name] for name in _OF_LENGTH if name in candidate.parameters}
        budget = replace_field(trial, lengths).known_budget(candidate.parameters[WORKERS])
        return budget.images if budget else None
