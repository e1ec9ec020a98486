"""The settings of a sweep while their seeds come in: the least that each mean can still be, and the one to beat.

A setting's mean area is at least the sum of what is known, the areas of its finished seeds and the bounds of its
running ones, over the number of its seeds: those that wait count as nothing. Without repeats each trial is a setting.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate, Key, group_key, qualifies
from sweeper.ranking.confidence import within_reach
from sweeper.ranking.settings import mean, setting_key
from sweeper.spec.repeats import Race, gives_seeds

# The bound is added up point by point and the area rounded once: this covers the difference, and ties stay.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Hopeless:
    """Why a trial can win no more: its area will be `bound` at least, and `rival` has `area`.

    With several `seeds` it is the mean area of its setting, and that of the rival's. Where a seed of its setting has
    been `lost`, the bound is infinite.
    """

    bound: float
    rival: str
    area: float
    seeds: int = 1
    lost: str = ""

    def __str__(self) -> str:
        if self.lost:
            return self.lost
        if self.seeds == 1:
            return f"its area will be {self.bound:.5g} at least, and trial {self.rival} has {self.area:.5g}"
        return (
            f"the mean area of its {self.seeds} seeds will be {self.bound:.5g} at least, and that of trial "
            f"{self.rival} and its repeats is {self.area:.5g} at most"
        )


@dataclass
class _Setting:
    """The trials of one setting by what is known of them."""

    group: Key
    trials: list[str] = field(default_factory=list)
    areas: dict[str, float] = field(default_factory=dict)  # of those that are complete and qualify
    bounds: dict[str, float] = field(default_factory=dict)  # of those that run
    lost: str = ""  # why it can qualify no more

    @property
    def complete(self) -> bool:
        return not self.lost and len(self.areas) == len(self.trials)

    @property
    def bound(self) -> float:
        return sum([*self.areas.values(), *self.bounds.values()]) / len(self.trials)


@dataclass(frozen=True)
class _Best:
    """The setting to beat in a group, by the name of its first trial."""

    trial: str
    area: float


class Needed(NamedTuple):
    """The largest area with which a trial's setting beats the rival's, if the seeds that wait come out like it.

    Both settings have so many `seeds`, of which `waiting` besides the trial have no area yet.
    """

    area: float
    waiting: int
    rival: str
    rivals: float
    seeds: int


class Means:
    """The settings of one sweep; where `repeats` gives seeds, the trials that differ in these alone make one.

    What a mean must not exceed is the smallest one of a complete setting. In a race it is what is within reach of that
    (`sweeper.ranking.confidence`), and holds for the first round alone: further seeds are there to tell their settings
    apart.
    """

    def __init__(self, threshold: float | None, group_by: Sequence[str], repeats: int | Race = 1) -> None:
        self._threshold, self._group_by, self._seeded = threshold, tuple(group_by), gives_seeds(repeats)
        self._limit: Callable[[Sequence[float]], float] = mean
        self._most_seeds = math.inf
        if isinstance(repeats, Race):
            self._limit = partial(within_reach, level=repeats.level, looks=repeats.looks)
            self._most_seeds = repeats.at_least
        self._settings: dict[Any, _Setting] = {}
        self._setting_of: dict[str, _Setting] = {}
        self._best: dict[Key, _Best] = {}

    def add(self, trials: Mapping[str, Mapping[str, Any]]) -> None:
        """Trials that the sweep has, with their parameters; those that are known are passed over."""
        for trial, parameters in trials.items():
            if trial in self._setting_of:
                continue
            key = setting_key(parameters) if self._seeded else trial
            setting = self._settings.setdefault(key, _Setting(group_key(parameters, self._group_by)))
            was_complete = bool(setting.trials) and setting.complete
            setting.trials.append(trial)
            self._setting_of[trial] = setting
            if was_complete:
                self._find_best(setting.group)  # it has another seed to come, and is none to beat until then

    def ended(self, candidate: Candidate) -> None:
        """A trial has come to its end, here or elsewhere."""
        trial = candidate.trial
        self.add({trial: candidate.parameters})
        setting = self._setting_of[trial]
        setting.bounds.pop(trial, None)
        if qualifies(candidate, self._threshold):
            assert candidate.area is not None
            setting.areas[trial] = candidate.area
            if setting.complete:
                self._challenge(setting)
        elif not setting.lost:
            setting.lost = _why_lost(candidate, self._threshold)

    def runs(self, trial: str, bound: float) -> None:
        """A running trial's area will be at least this."""
        self._setting_of[trial].bounds[trial] = bound

    def waits(self, trial: str) -> None:
        """A trial begins anew, or will: what another attempt at it came to counts no more."""
        if setting := self._setting_of.get(trial):
            setting.bounds.pop(trial, None)

    def lost(self, trial: str) -> Hopeless | None:
        """Why a trial's setting can qualify no more, whatever its areas: another of its seeds has not."""
        setting = self._setting_of.get(trial)
        if setting is None or not setting.lost:
            return None
        return Hopeless(math.inf, "", math.nan, len(setting.trials), setting.lost)

    def beaten(self, trial: str) -> Hopeless | None:
        """Why a trial's setting can win its group no more; None where it may."""
        setting = self._setting_of.get(trial)
        best = self._best.get(setting.group) if setting else None
        if setting is None or best is None or len(setting.trials) > self._most_seeds:
            return None
        bound, seeds = setting.bound, len(setting.trials)
        return Hopeless(bound, best.trial, best.area, seeds) if bound * (1 - _ROUNDING) > best.area else None

    def needed(self, trial: str) -> Needed | None:
        """What a running trial has to come to; None where nobody is to beat."""
        setting = self._setting_of.get(trial)
        best = self._best.get(setting.group) if setting else None
        if setting is None or best is None or len(setting.trials) > self._most_seeds:
            return None
        others = sum(setting.areas.values()) + sum(b for other, b in setting.bounds.items() if other != trial)
        alike = len(setting.trials) - len(setting.areas.keys() | setting.bounds.keys() - {trial})
        area = (best.area * len(setting.trials) - others) / max(1, alike)
        return Needed(area, alike - 1, best.trial, best.area, len(setting.trials))

    def _challenge(self, setting: _Setting) -> None:
        area = self._limit([setting.areas[trial] for trial in setting.trials])
        best = self._best.get(setting.group)
        if best is None or area < best.area:
            self._best[setting.group] = _Best(setting.trials[0], area)

    def _find_best(self, group: Key) -> None:
        self._best.pop(group, None)
        for setting in self._settings.values():
            if setting.group == group and setting.complete:
                self._challenge(setting)


def _why_lost(candidate: Candidate, threshold: float | None) -> str:
    """Why a seed that has ended without qualifying takes its setting along; empty where another attempt may come."""
    name = f"trial {candidate.trial}, another seed of its setting,"
    if candidate.state is TrialState.PRUNED:
        return f"{name} was pruned"
    if candidate.state is TrialState.DIVERGED or (candidate.complete and not candidate.finite):
        return f"{name} diverged"
    loss = candidate.minimum_loss
    if not candidate.complete or threshold is None or (loss is not None and loss <= threshold):
        return ""  # failed or cancelled; or oversubscribed, and without an area for that alone
    return f"{name} did not come to the threshold"
