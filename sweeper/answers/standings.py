"""Who leads each group of a sweep while it runs: kept up to date trial by trial, and never ranked as a whole anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sweeper.answers.cost import candidate_over
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate, Key, group_key, qualifies, rank, sort_key
from sweeper.ranking.cost import over_dollars, stored_axis
from sweeper.ranking.settings import rank_groups
from sweeper.spec import DOLLARS
from sweeper.spec.axes import WORKERS
from sweeper.spec.repeats import gives_seeds
from sweeper.store import Store, SweepRecord, TrialRecord


@dataclass(frozen=True)
class Standing:
    """A group: its leader if any has qualified, how many have, how many compete, and the lowest loss of all."""

    key: Mapping[str, Any]
    leader: Candidate | None = None
    qualified: int = 0
    competitors: int = 0
    best_minimum_loss: float | None = None


class Standings:
    """The groups of a sweep as its trials end; what has never begun is counted and not kept."""

    def __init__(self, store: Store, sweep: SweepRecord) -> None:
        self._store, self._sweep = store, sweep
        self._rate = sweep.spec.rate
        self._repeats = sweep.spec.repeats_with(seeds=store.trials.have_seeds(sweep.id))
        self._with_seeds = gives_seeds(self._repeats)  # of a setting all seeds count, those that wait too
        found = store.trials.candidates(sweep.id, stored_axis(sweep.over), kept=False, begun=not self._with_seeds)
        self._trials = {one.trial: self._priced(one) for one in found}
        self._groups: dict[Key, Standing] = {}
        self._waiting: Counter[Key] | None = None
        self._ended = sum(one.state.ended for one in self._trials.values())
        self._are_stale = self._with_seeds
        if not self._with_seeds:
            self._rank(self._trials.values())

    @property
    def total(self) -> int:
        """All trials, also those that a search is still to add."""
        return max(self._sweep.total, len(self._trials))

    @property
    def ended(self) -> int:
        """Trials that are over."""
        return self._ended

    def note(self, trial: TrialRecord) -> None:
        """A trial as it is now."""
        before = self._trials.get(trial.id)
        now = self._trials[trial.id] = candidate_over(trial, self._sweep.over, self._rate)
        self._ended += now.state.ended - (before is not None and before.state.ended)
        if self._with_seeds:
            self._are_stale |= now.state.ended
            return
        key = group_key(now.parameters, self._sweep.group_by)
        if before is None and self._waiting is not None:
            self._waiting[key] = max(0, self._waiting[key] - 1)
        if before is None or not (before.state.ended or before.minimum_loss is not None):
            self._groups[key] = self._with(self._groups.get(key), key, now, is_new=before is None)
        else:  # it had a result, which may be another now
            self._rank(one for one in self._trials.values() if group_key(one.parameters, self._sweep.group_by) == key)

    def leads(self, trial_id: str) -> bool:
        """Whether a trial is its group's best, or one of the seeds of the best setting."""
        return any(trial_id == one.trial for group in self._all() if group.leader for one in group.leader.trials)

    def groups(self) -> list[Standing]:
        """All groups, in the order in which answers have them."""
        if self._with_seeds:
            return self._all()
        if self._waiting is None:
            self._waiting = self._count_waiting()
        keys = {*list(self._groups), *list(self._waiting)}  # copies: another thread may draw
        return [
            self._standing(key, self._waiting[key])
            for key in sorted(keys, key=lambda key: [sort_key(value) for value in key])
        ]

    def _standing(self, key: Key, waiting: int) -> Standing:
        known = self._groups.get(key) or Standing(self._named(key))
        return Standing(known.key, known.leader, known.qualified, known.competitors + waiting, known.best_minimum_loss)

    def _all(self) -> list[Standing]:
        if self._are_stale:
            self._are_stale = False
            threshold, group_by = self._sweep.threshold, self._sweep.group_by
            found = rank_groups(self._trials.values(), threshold, group_by, self._repeats)
            self._groups = {
                tuple(one.key.values()): Standing(
                    one.key, one.winner, len(one.ranking), one.competitors, one.best_minimum_loss
                )
                for one in found
            }
        return list(self._groups.values())

    def _rank(self, candidates: Iterable[Candidate]) -> None:
        """Make groups anew from all of their trials that have begun."""
        for group in rank_groups(candidates, self._sweep.threshold, self._sweep.group_by):
            self._groups[tuple(group.key.values())] = Standing(
                group.key, group.winner, len(group.ranking), group.competitors, group.best_minimum_loss
            )

    def _with(self, group: Standing | None, key: Key, candidate: Candidate, *, is_new: bool) -> Standing:
        """A group with what has become of a trial that had no result before."""
        group, threshold = group or Standing(self._named(key)), self._sweep.threshold
        (alone,) = rank_groups([candidate], threshold, self._sweep.group_by)
        losses = [one for one in (group.best_minimum_loss, alone.best_minimum_loss) if one is not None]
        best = rank([*([group.leader] if group.leader else []), candidate], threshold)
        return Standing(
            group.key,
            best[0] if best else None,
            group.qualified + qualifies(candidate, threshold),
            group.competitors + is_new,
            min(losses, default=None),
        )

    def _named(self, key: Key) -> dict[str, Any]:
        return dict(zip(self._sweep.group_by, key, strict=True))

    def _priced(self, candidate: Candidate) -> Candidate:
        if self._sweep.over != DOLLARS:
            return candidate
        return candidate._replace(area=None) if self._rate is None else over_dollars(candidate, self._rate)

    def _count_waiting(self) -> Counter[Key]:
        """How many trials of each group have never begun."""
        group_by = self._sweep.group_by
        if group_by != (WORKERS,):
            unbegun = self._store.trials.unbegun(self._sweep.id)
            return Counter(group_key(one, group_by) for id_, one in unbegun if id_ not in self._trials)
        counts = self._store.progress.counts(self._sweep.id)
        waiting = Counter({(workers,): n for (workers, state), n in counts.items() if state is TrialState.PENDING})
        known = (one for one in self._trials.values() if one.state is TrialState.PENDING)
        waiting.subtract(group_key(one.parameters, group_by) for one in known)
        return +waiting
