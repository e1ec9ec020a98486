"""The thresholded area: who qualifies, who wins, best per group (paper, section 5)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from sweeper.plan.trial import TrialState

_LAST = math.inf
_NUMBER = (int, float)  # made once: it is asked for many times a trial
Key: TypeAlias = tuple[Any, ...]


class Candidate(NamedTuple):  # there are many, and one takes a quarter of the time that a frozen dataclass takes
    """A trial as the ranking sees it; `area` is over the axis that is asked for.

    `finite` is true when no loss was infinite or not a number, `position` the trial's place in the plan. Where ranks
    shared cores or GPUs it is `oversubscribed`, and has no area over seconds unless that was asked for. The losses of
    one that is `derived_from` another are that one's. One that is `at_chance` never learnt (`sweeper.ranking.chance`).
    One that stands for a setting (`sweeper.ranking.settings`) has the trials of its seeds in `repeats`.
    """

    trial: str
    parameters: dict[str, Any]
    state: TrialState
    finite: bool
    area: float | None
    minimum_loss: float | None
    seconds: float | None = None
    images: int | None = None
    position: int = 0
    oversubscribed: bool = False
    derived_from: str | None = None
    at_chance: bool = False
    repeats: tuple[Candidate, ...] = ()

    @property
    def trials(self) -> tuple[Candidate, ...]:
        """The trials that it stands for: itself, or those of its seeds."""
        return self.repeats or (self,)

    @property
    def complete(self) -> bool:
        """Whether the trial ran to its end."""
        return self.state is TrialState.COMPLETED


@dataclass(frozen=True)
class Group:
    """The trials, or settings, that compete with each other; `ranking` holds the qualified ones, best first.

    `trials` counts trials, `competitors` what is ranked. `untimed` counts the trials that are complete, and have no
    area since they were oversubscribed; `rivals` are the pruned ones whose area so far is not larger than the winner's,
    of all that are `pruned`. `diverged` and `at_chance` count the trials that came to nothing in these ways. `members`
    are all that compete, in the order in which they were given.
    """

    key: dict[str, Any]
    trials: int
    ranking: tuple[Candidate, ...]
    best_minimum_loss: float | None
    untimed: int = 0
    rivals: tuple[Candidate, ...] = ()
    competitors: int = 0
    pruned: int = 0
    diverged: int = 0
    at_chance: int = 0
    members: tuple[Candidate, ...] = ()

    @property
    def winner(self) -> Candidate | None:
        """The qualified trial with the smallest area."""
        return self.ranking[0] if self.ranking else None


_COUNTED = [Candidate._fields.index(name) for name in ("finite", "minimum_loss", "oversubscribed", "at_chance")]


def group_key(parameters: Mapping[str, Any], group_by: Sequence[str]) -> Key:
    """The values by which a trial's rivals are found."""
    if len(group_by) == 1:  # as most are, and there are many trials
        return (parameters.get(group_by[0]),)
    return tuple([parameters.get(name) for name in group_by])


def qualifies(candidate: Candidate, threshold: float | None) -> bool:
    """Whether a curve is complete, finite, has an area, and came down to the threshold (equality counts)."""
    if candidate.state is not TrialState.COMPLETED or not candidate.finite:
        return False
    area, minimum = candidate.area, candidate.minimum_loss
    if not (-_LAST < area < _LAST if type(area) is float else _is_number(area)):
        return False
    return threshold is None or (minimum is not None and minimum <= threshold)


def has_diverged(candidate: Candidate) -> bool:
    """Whether a loss was infinite or not a number."""
    return candidate.state is TrialState.DIVERGED or (candidate.complete and not candidate.finite)


def rank(candidates: Iterable[Candidate], threshold: float | None) -> list[Candidate]:
    """The qualified candidates, smallest area first.

    Equal areas are ordered by fewer workers, smaller batch, smaller rate, and the trial's id.
    """
    qualified = [c for c in candidates if qualifies(c, threshold)]
    areas = _numbers([c.area for c in qualified])
    if len(set(areas)) == len(areas):  # the rest of the order is looked at only where areas are equal
        order = sorted(range(len(areas)), key=areas.__getitem__)
    else:
        places = list(zip(areas, *_tie_breakers(qualified), strict=True))
        order = sorted(range(len(places)), key=places.__getitem__)
    return [qualified[place] for place in order]


def best_per_group(
    candidates: Iterable[Candidate], threshold: float | None, group_by: Sequence[str] = ("workers",)
) -> list[Group]:
    """One group for each value of the `group_by` parameters, in numeric order; a group that nobody won has its row."""
    members: dict[Key, list[Candidate]] = {}
    candidates = list(candidates)
    parameters = [candidate.parameters for candidate in candidates]
    keys = zip(*([one.get(name) for one in parameters] for name in group_by), strict=True) if group_by else repeat(())
    for key, candidate in zip(keys, candidates, strict=False):
        members.setdefault(key, []).append(candidate)
    return [
        _group(dict(zip(group_by, key, strict=True)), members[key], threshold)
        for key in sorted(members, key=lambda key: [sort_key(value) for value in key])
    ]


def _group(key: dict[str, Any], members: Sequence[Candidate], threshold: float | None) -> Group:
    ranking = tuple(rank(members, threshold))
    least = ranking[0].area if ranking else None
    trials = [trial for member in members for trial in member.trials] if members[0].repeats else members
    # Column by column, and a look at single trials only where there is something to be seen: there are many.
    finite, losses, shared, chance = (list(map(itemgetter(column), trials)) for column in _COUNTED)
    states, of_trials = [c.state for c in members], [c.state for c in trials]
    pruned = [c for c in members if c.state is TrialState.PRUNED] if TrialState.PRUNED in states else []
    rivals = [c for c in pruned if not _has_failed(c, threshold)]
    return Group(
        key=key,
        trials=len(trials),
        ranking=ranking,
        best_minimum_loss=_least([loss for loss in losses if loss is not None]),
        untimed=sum(c.oversubscribed and c.complete and c.area is None for c in trials) if any(shared) else 0,
        rivals=tuple(c for c in rivals if c.area is None or least is None or c.area <= least),
        competitors=len(members),
        pruned=len(pruned),
        diverged=0 if all(finite) and TrialState.DIVERGED not in of_trials else sum(map(has_diverged, trials)),
        at_chance=sum(chance),
        members=tuple(members),
    )


def _has_failed(setting: Candidate, threshold: float | None) -> bool:
    """Whether one of the seeds of a pruned setting has ended without qualifying, so that it could not have won."""
    return any(
        trial.complete and trial.area is not None and not qualifies(trial, threshold) for trial in setting.repeats
    )


def sort_key(value: Any) -> tuple[int, float, str]:
    """A total order over parameter values: numbers by size, then names, then what is missing or not a number."""
    if isinstance(value, bool) or value is None:
        return (2, 0.0, str(value))
    if isinstance(value, int | float):
        return (2, 0.0, "nan") if math.isnan(value) else (0, float(value), "")
    return (1, 0.0, str(value))


def _tie_breakers(candidates: Sequence[Candidate]) -> list[list[Any]]:
    """What decides between candidates of equal areas, column by column."""
    parameters = [candidate.parameters for candidate in candidates]
    sizes = [one.get("global_batch_size") if one.get("batch_size") is None else one["batch_size"] for one in parameters]
    workers, rates = ([one.get(name) for one in parameters] for name in ("workers", "learning_rate"))
    return [*map(_numbers, (workers, sizes, rates)), [candidate.trial for candidate in candidates]]


def _least(values: Sequence[Any]) -> float | None:
    """The smallest of those that are finite numbers."""
    return min(values if _are_numbers(values) else filter(_is_number, values), default=None)


def _numbers(values: Sequence[Any]) -> list[float]:
    """Each as a number to be ordered by; those that are none come last."""
    return list(map(float if _are_numbers(values) else _number, values))


def _are_numbers(values: Sequence[Any]) -> bool:
    """Whether all are finite numbers, told without a look at each; false where their sum is too large."""
    try:
        return set(map(type, values)) <= {float, int} and math.isfinite(sum(map(float, values)))
    except OverflowError:
        return False


def _is_number(value: Any) -> bool:
    return isinstance(value, _NUMBER) and value is not True and value is not False and math.isfinite(value)


def _number(value: Any) -> float:
    kind = type(value)
    if kind is float:  # most are, and there are many
        return value if -_LAST < value < _LAST else _LAST
    if kind is int:
        try:
            return float(value)
        except OverflowError:
            return _LAST if value > 0 else -_LAST
    return float(value) if _is_number(value) else _LAST
