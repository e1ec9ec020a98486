"""The leader of each group of a sweep, from rows alone: for lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dashboards.figures.words.labels import plain
from dashboards.pages.kept import Kept
from dashboards.pages.rendering import parameters_words
from sweeper.answers.cost import candidates_over
from sweeper.ranking import Candidate, Group, best_per_group
from sweeper.ranking.cost import over_dollars, stored_axis
from sweeper.ranking.settings import competitors
from sweeper.spec import DOLLARS
from sweeper.spec.axes import WORKERS
from sweeper.spec.repeats import gives_seeds
from sweeper.store import Store, SweepRecord

_MOST_TRIALS = 2000  # of a sweep whose trials are all ranked for a list: settings of many seeds, groups of other kinds
_MOST_KEPT = 500  # sweeps


@dataclass(frozen=True)
class Leader:
    """Who leads a group: its words, the winner's, and the winner's area."""

    group: str
    trial: str
    parameters: str
    area: float | None


def leaders_of(store: Store, sweep: SweepRecord) -> list[Leader] | None:
    """The winners by the sweep's own axis and threshold, best group by best group; None where that takes too long."""
    rate = sweep.spec.rate
    if sweep.over == DOLLARS and rate is None:
        return []
    repeats = sweep.spec.repeats_with(seeds=store.trials.have_seeds(sweep.id))
    if sweep.group_by == (WORKERS,) and not gives_seeds(repeats):
        found: list[Candidate] = store.views.leaders(sweep.id, stored_axis(sweep.over), sweep.threshold)
        if sweep.over == DOLLARS and rate is not None:
            found = [over_dollars(one, rate) for one in found]
    elif sweep.trials > _MOST_TRIALS:
        return None
    else:
        found = competitors(candidates_over(store, sweep, sweep.over, rate), repeats)
    groups = best_per_group(found, sweep.threshold, sweep.group_by)
    return [_leader(group, group.winner) for group in groups if group.winner]


class Leaders:
    """The leaders of sweeps, kept for as long as the trials in each state are as many: what is complete stays so."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: Kept[list[Leader] | None] = Kept(_MOST_KEPT)

    def of(self, sweep: SweepRecord) -> list[Leader] | None:
        """See `leaders_of`."""
        return self._kept.get(sweep.id, sweep.states, lambda: leaders_of(self._store, sweep))


def group_words(key: dict[str, Any]) -> str:
    """What a group is called: "2 workers", "2 workers, average weights", "all trials"."""
    names = []
    for name, value in key.items():
        if name == WORKERS:
            names.append(f"{value} worker{'' if value == 1 else 's'}")
        else:
            names.append(f"{plain(name)} {value}")
    return ", ".join(names) or "all trials"


def _leader(group: Group, winner: Candidate) -> Leader:
    words = parameters_words(winner.parameters, group.key)
    return Leader(group_words(group.key), winner.trial, words, winner.area)
