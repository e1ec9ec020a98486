"""`repeats: auto`: further seeds for those settings whose seeds tell most about which is the best of their group.

A round begins when all trials of a group have ended. The model of `sweeper.ranking.belief` says which settings may be
the best, and `sweeper.ranking.next_seeds` which of them get a seed more. The group's race is over when the expected
regret of the recommended setting is small enough, or the best setting is told apart. Where trials allow no model, for
example since they are fewer than six, those that the t-tests cannot tell apart from the best get a seed each, those
that have fewest first.

All follows from what the store has: a race goes on after an interrupt, and two schedulers propose the same trials. A
group is modelled once a round.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sweeper.guides.base import Guide, GuideAround
from sweeper.plan import with_seed
from sweeper.plan.trial import TrialSpec
from sweeper.ranking import Candidate, Group, Key, group_key
from sweeper.ranking.belief import Beliefs, one_thread, outlook
from sweeper.ranking.confidence import compare
from sweeper.ranking.cost import over_dollars, stored_axis
from sweeper.ranking.next_seeds import likeliest, next_seeds, round_of
from sweeper.ranking.settings import rank_groups, seed_of, setting_key
from sweeper.spec.repeats import LEVEL, Race
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
        self._due: dict[Key, tuple[Any, Sequence[Candidate]]] = {}
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
            for setting in self._due_in(group, tried)
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

    def _due_in(self, group: Group, tried: Mapping[Key, set[int]]) -> Sequence[Candidate]:
        """What `due` says of a group; it is asked once for the same trials, since the model takes its time."""
        key = tuple(group.key.values())
        seeds = {one: len(tried[one]) for one in (setting_key(each.parameters) for each in group.members)}
        told = [(one.trial, one.state, one.area, one.minimum_loss) for each in group.members for one in each.trials]
        if key not in self._due or self._due[key][0] != (told, seeds):
            self._due[key] = (told, seeds), due(group, self._race, seeds, self._sweep.threshold)
        return self._due[key][1]

    def _seeds_tried(self) -> dict[Key, set[int]]:
        """The seeds of each setting, whatever came of them."""
        tried: dict[Key, set[int]] = {}
        for one in self._candidates.values():
            tried.setdefault(setting_key(one.parameters), set()).add(seed_of(one))
        return tried

    def _another(self, setting: Candidate, tried: Mapping[Key, set[int]]) -> TrialSpec:
        """A trial of a setting with its first free seed, which is taken then."""
        key = setting_key(setting.parameters)
        seeds = tried[key]
        seed = next(n for n in itertools.count(min(seeds)) if n not in seeds)
        seeds.add(seed)
        return with_seed(self._records[key].planned, seed)


def due(group: Group, race: Race, tried: Mapping[Key, int], threshold: float | None) -> Sequence[Candidate]:
    """The settings of a group that get another seed in its next round, some more than one; none where its race is over.

    `tried` says how many seeds each setting has had, whatever came of them.
    """
    if len(group.ranking) < 2:
        return ()
    found = outlook(group, threshold)
    if found is None:
        return _due_by_tests(group, race, tried)
    believed, prospect = found
    if _is_over(group, believed, race):
        return ()
    chances = [one.probability for one in believed.settings]
    room = {
        place: race.at_most - tried[setting_key(believed.settings[place].setting.parameters)]
        for place in {0, *likeliest(chances, max(LEVEL, race.level))}  # the recommended one is the first
    }
    room = {place: seeds for place, seeds in sorted(room.items()) if seeds > 0}
    with one_thread():
        chosen = next_seeds(prospect, room, round_of(room), race.regret)
    return [believed.settings[place].setting for place in chosen]


def _is_over(group: Group, believed: Beliefs, race: Race) -> bool:
    if race.regret is not None:
        return believed.recommended.regret <= race.regret
    likeliest = max(one.probability for one in believed.settings)
    return likeliest >= race.level or not _rivals(group, race)


def _due_by_tests(group: Group, race: Race, tried: Mapping[Key, int]) -> Sequence[Candidate]:
    """The best and its rivals, one seed each, as far as they have fewest."""
    if not (rivals := _rivals(group, race)):
        return ()
    both = (group.ranking[0], *rivals)
    may_have_more = [one for one in both if tried[setting_key(one.parameters)] < race.at_most]
    fewest = min((len(one.trials) for one in may_have_more), default=0)
    return [one for one in may_have_more if len(one.trials) == fewest]


def _rivals(group: Group, race: Race) -> list[Candidate]:
    """Those that their own seeds and those of the best do not tell apart."""
    best, *others = group.ranking
    found = compare(best, others, race.level, race.looks)
    return [other for other, one in zip(others, found, strict=True) if one is None or not one.separated]
