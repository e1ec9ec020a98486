"""`repeats: auto`: further seeds for those settings alone that may still win their group.

A round begins when all trials of a group have ended. The settings that cannot be told apart from its best one, and that
one, get one seed more each, those that have fewest first. A setting that is told apart gets none, and comes back when
another takes the lead from which it is not. All follows from what the store has: a race goes on after an interrupt,
and two schedulers propose the same trials.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sweeper.guides.base import Guide, GuideAround
from sweeper.plan import with_seed
from sweeper.plan.trial import TrialSpec
from sweeper.ranking import Candidate, Group, Key, group_key
from sweeper.ranking.confidence import compare
from sweeper.ranking.cost import over_dollars, stored_axis
from sweeper.ranking.settings import rank_groups, seed_of, setting_key
from sweeper.spec.repeats import Race
from sweeper.store import SweepRecord, TrialRecord


class RacingGuide(GuideAround):
    """Proposes seeds for the settings of a sweep; order and pruning are those of another guide.

    `trials` are the sweep's, of which settings get more. Those that are added by others while it runs have what they
    have. Over dollars it needs the `rate`.
    """

    def __init__(
        self, inner: Guide, race: Race, sweep: SweepRecord, trials: Iterable[TrialRecord], rate: float | None = None
    ) -> None:
        super().__init__(inner, stored_axis(sweep.over))
        self.proposes = True
        self._race, self._sweep, self._rate, self.most = race, sweep, rate, race.trials
        self._records: dict[Key, TrialRecord] = {}
        self._candidates: dict[str, Candidate] = {}
        for trial in trials:
            self._records.setdefault(setting_key(trial.parameters), trial)
            self._note(trial.candidate(self.over))

    def propose(self) -> Sequence[TrialSpec]:
        """The next seeds, as far as the sweep may have more trials; see `Guide.propose`."""
        most = math.inf if self._race.trials is None else self._race.trials - len(self._candidates)
        tried = self._seeds_tried()
        groups = rank_groups(self._candidates.values(), self._sweep.threshold, self._sweep.group_by, self._race)
        busy = self._busy_groups()
        settings = [
            setting
            for group in groups
            if tuple(group.key.values()) not in busy
            for setting in due(group, self._race, tried)
            if setting_key(setting.parameters) in self._records
        ]
        return [self._another(setting, tried) for setting in settings[: max(0, int(min(most, len(settings))))]]

    def learn(self, candidates: Iterable[Candidate]) -> None:
        """See `Guide.learn`; it also has to know who waits and runs, to let a round come to its end."""
        candidates = list(candidates)
        for candidate in candidates:
            self._note(candidate)
        super().learn(candidates)

    def _note(self, candidate: Candidate) -> None:
        priced = candidate if self._rate is None else over_dollars(candidate, self._rate)
        self._candidates[candidate.trial] = priced

    def _busy_groups(self) -> set[Key]:
        """The groups in which trials wait or run."""
        unended = (one for one in self._candidates.values() if not one.state.ended)
        return {group_key(one.parameters, self._sweep.group_by) for one in unended}

    def _seeds_tried(self) -> dict[Key, set[int]]:
        """The seeds of each setting, whatever came of them."""
        tried: dict[Key, set[int]] = {}
        for one in self._candidates.values():
            tried.setdefault(setting_key(one.parameters), set()).add(seed_of(one))
        return tried

    def _another(self, setting: Candidate, tried: Mapping[Key, set[int]]) -> TrialSpec:
        key = setting_key(setting.parameters)
        seeds = tried[key]
        return with_seed(self._records[key].planned, next(n for n in itertools.count(min(seeds)) if n not in seeds))


def due(group: Group, race: Race, tried: Mapping[Key, set[int]]) -> Iterator[Candidate]:
    """The settings of a group that get another seed in its next round, best first; none where its race is over."""
    if len(group.ranking) < 2:
        return
    best, *others = group.ranking
    found = compare(best, others, race.level, race.looks)
    rivals = [other for other, one in zip(others, found, strict=True) if one is None or not one.separated]
    if not rivals:
        return
    may_have_more = [one for one in (best, *rivals) if len(tried[setting_key(one.parameters)]) < race.at_most]
    fewest = min((len(one.trials) for one in may_have_more), default=0)
    yield from (one for one in may_have_more if len(one.trials) == fewest)
