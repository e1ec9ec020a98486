"""What `best` says of winners: how many seeds, how sure, and which setting is the cheapest and which the fastest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sweeper.answers.cost import candidates_over
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate, Group, rank
from sweeper.ranking.confidence import areas_of, compare, interval
from sweeper.ranking.cost import dollars_per_second
from sweeper.ranking.settings import competitors, seed_of
from sweeper.spec import DOLLARS
from sweeper.spec.repeats import LEVEL, Race
from sweeper.store import Store, SweepRecord


def setting_answer(setting: Candidate, accuracies: Mapping[str, float], repeats: int | Race) -> dict[str, Any]:
    """A qualified setting, or a trial that has no repeats; area, seconds, images and accuracy are means over its seeds.

    "area_interval" is the mean area's at "level", None for a single seed; "seeds" are None where `repeats` gave none.
    "minimum_loss" is the highest of its seeds'.
    """
    level = _level(repeats)
    known = [accuracies[trial.trial] for trial in setting.trials if trial.trial in accuracies]
    found = interval(areas_of(setting), level)
    return {
        "trial": setting.trial,
        "parameters": setting.parameters,
        "area": setting.area,
        "minimum_loss": setting.minimum_loss,
        "seconds": setting.seconds,
        "images": setting.images,
        "accuracy": math.fsum(known) / len(known) if known else None,
        "repeats": len(setting.trials),
        "area_interval": list(found) if found else None,
        "level": level,
        "seeds": [seed_of(trial) for trial in setting.repeats] or None,
        "trials": [trial.trial for trial in setting.trials],
        "derived_from": setting.derived_from,
    }


def separation_answer(group: Group, repeats: int | Race) -> dict[str, Any]:
    """{"separated", "undecided", "not_compared", "comparison"} of a group.

    "separated" says whether winner and runner-up are told apart, None where seeds are too few for that; "undecided"
    counts the qualified settings that are not told apart from the winner, "not_compared" the pruned ones, of which
    nobody knows how far they would have been from it. "comparison" is that with the runner-up.
    """
    looks = repeats.looks if isinstance(repeats, Race) else 1
    found = compare(group.ranking[0], group.ranking[1:], _level(repeats), looks) if group.ranking else []
    first = found[0] if found else None
    return {
        "separated": first.separated if first else None,
        "undecided": sum(one is None or not one.separated for one in found),
        "not_compared": group.pruned,
        "comparison": first
        and {
            "method": first.method,
            "p_value": first.p_value,
            "adjusted_p_value": first.adjusted,
            "correction": "Holm" if first.looks == 1 else f"Holm, and Bonferroni for {first.looks} looks",
            "compared": first.compared,
            "level": first.level,
        },
    }


def doubtful_trials(group: Group) -> list[str]:
    """The pruned trials of a group's rivals."""
    return [t.trial for rival in group.rivals for t in rival.trials if t.state is TrialState.PRUNED]


def extremes_answer(
    store: Store,
    sweep: SweepRecord,
    threshold: float | None,
    rate: float | None,
    repeats: int | Race,
    *,
    oversubscribed: bool,
) -> dict[str, Any]:
    """{"dollars_per_worker_hour", "cheapest", "fastest"}: of all groups the smallest areas over dollars and seconds.

    Both are None where there is no rate, or nothing that qualifies.
    """
    answer: dict[str, Any] = {"dollars_per_worker_hour": rate, "cheapest": None, "fastest": None}
    if rate is None:
        return answer
    for name, over in (("cheapest", DOLLARS), ("fastest", "seconds")):
        candidates = candidates_over(store, sweep, over, rate, oversubscribed=oversubscribed)
        ranking = rank(competitors(candidates, repeats), threshold)
        answer[name] = _extreme(ranking, over, rate)
    return answer


def _extreme(ranking: Sequence[Candidate], over: str, rate: float) -> dict[str, Any] | None:
    if not ranking or ranking[0].area is None:
        return None
    best = ranking[0]
    per_second = dollars_per_second(best.parameters, rate)
    area_seconds = best.area if over == "seconds" else None
    if best.area is not None and over == DOLLARS and per_second:
        area_seconds = best.area / per_second
    return {
        "trial": best.trial,
        "parameters": best.parameters,
        "area_seconds": area_seconds,
        "area_dollars": best.area if over == DOLLARS or area_seconds is None else area_seconds * per_second,
        "seconds": best.seconds,
        "dollars": None if best.seconds is None else best.seconds * per_second,
        "minimum_loss": best.minimum_loss,
        "trials": [trial.trial for trial in best.trials],
    }


def _level(repeats: int | Race) -> float:
    return repeats.level if isinstance(repeats, Race) else LEVEL
