"""Which trials `sweeper extend --seeds` adds: more seeds of the settings that `best` cannot rule out."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sweeper.errors import SpecError
from sweeper.plan import with_seed
from sweeper.plan.trial import TrialSpec
from sweeper.ranking import Key
from sweeper.ranking.settings import setting_key
from sweeper.spec.axes import SEED
from sweeper.spec.command import CommandConfig
from sweeper.store import Store, SweepRecord, TrialRecord

_FEW = 2  # seeds to go on with where nobody knows how many would do


def seeds_wanted(groups: Iterable[Mapping[str, Any]]) -> int:
    """What to ask `further_seeds` for: as many as the group that needs most, 0 where none needs any."""
    needs = [told["more_seeds"] for group in groups if (told := group.get("recommended")) and _has_rivals(told)]
    return max((need for need in needs if need is not None), default=0) or (_FEW if None in needs else 0)


def trials_wanted(groups: Iterable[Mapping[str, Any]], seeds: int) -> int:
    """How many trials `further_seeds` makes of these groups."""
    told = [one for group in groups if (one := group.get("recommended"))]
    return sum(_seeds_of(one, seeds) * len(one["not_ruled_out"]) for one in told)


def further_seeds(store: Store, sweep: SweepRecord, groups: Sequence[Mapping[str, Any]], seeds: int) -> list[TrialSpec]:
    """Trials with so many further seeds of each setting that is not ruled out; fewer where fewer are enough.

    `groups` are those of a `best_answer` with what is recommended. Groups that need none get none.

    Raises:
        SpecError: no group needs any, nothing is recommended of any, or the trials cannot be trained with another seed.
    """
    if sweep.spec.written is None:
        raise SpecError([f"--seeds: sweep {sweep.id} is an import, whose trials cannot be trained here; run its spec"])
    told = [one for group in groups if (one := group["recommended"])]
    if not told:
        why = "no group has a recommendation, and so no settings to choose between"
        raise SpecError([f"--seeds: {why}; `sweeper extend {sweep.id} --set repeats=2` trains all settings again"])
    numbers = [(each["not_ruled_out"], _seeds_of(each, seeds)) for each in told]
    chosen = {one["trial"]: number for settings, number in numbers for one in settings if number}
    if not chosen:
        why = f"no group of sweep {sweep.id} needs more: other settings are ruled out, or hardly better"
        raise SpecError([f"--seeds: {why}; `sweeper extend {sweep.id} --set repeats=2` trains all settings again"])
    return _with_further_seeds(store.trials.of(sweep.id), chosen)


def _has_rivals(told: Mapping[str, Any]) -> bool:
    return len(told["not_ruled_out"]) > 1


def _seeds_of(told: Mapping[str, Any], most: int) -> int:
    need = told["more_seeds"]
    return 0 if not _has_rivals(told) else most if need is None else min(need, most)


def _with_further_seeds(trials: Iterable[TrialRecord], chosen: Mapping[str, int]) -> list[TrialSpec]:
    """So many further trials of the settings to which these trials belong, with the first seeds that are free."""
    settings: dict[Key, list[TrialRecord]] = {}
    for trial in trials:
        settings.setdefault(setting_key(trial.parameters), []).append(trial)
    found = []
    for members in settings.values():
        number = next((chosen[trial.id] for trial in members if trial.id in chosen), 0)
        if number:
            planned, taken = members[0].planned, {_seed_of(trial.planned) for trial in members}
            free = (seed for seed in itertools.count(min(taken)) if seed not in taken)
            found += [with_seed(planned, seed) for seed in itertools.islice(free, number)]
    return found


def _seed_of(trial: TrialSpec) -> int:
    if not isinstance(trial.config, CommandConfig):
        return trial.config.seed
    if SEED not in trial.config.names():
        line = f"trial.command: has no {{{SEED}}}, so every run of a setting would get the same seed"
        raise SpecError([f"{line}; write {{{SEED}}} where it goes, and run the spec as a new sweep"])
    return int(trial.config.values.get(SEED) or 0)
