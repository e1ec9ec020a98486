"""What `best` recommends, and how sure that is: the model of `sweeper.ranking.belief` as values of JSON."""

from __future__ import annotations

from threading import Lock
from typing import Any

from cachetools import LRUCache, cached

from sweeper.ranking import Group
from sweeper.ranking.belief import SMALL_REGRET, Belief, Beliefs, beliefs, unfit
from sweeper.ranking.settings import without_seed
from sweeper.spec.repeats import LEVEL

_KEPT = 256  # groups, whose answers are not computed again in this process


def recommendation(group: Group, threshold: float | None, small_regret: float = SMALL_REGRET) -> dict[str, Any] | None:
    """What is recommended of a group; None where nobody won, or the trials are too few or not fit for a model.

    {"trial", "parameters", "expected_area", "area_interval", "qualifies", "probability", "expected_regret", "level",
    "not_ruled_out": [the same fields of each setting], "winner_expected_regret", "winner_probability",
    "winner_qualifies", "noise", "trials", "repeats", "more_seeds", "small_regret"}.

    It is the setting whose area, divided by the share of its runs that come to the threshold ("qualifies"), is expected
    to lie least above the best one's. "probability" is the chance that it is the best. "expected_regret" says how much
    larger than the best one's its area is expected to be, as a share. The settings that are "not_ruled_out" hold the
    best with a chance of "level". "noise" is the standard deviation of areas by chance among settings like it, as a
    share; so many "trials" tell it, of which "repeats" repeat a setting. "more_seeds" of each setting that is not
    ruled out would bring the expected regret to "small_regret"; None where ten would not.
    """
    found = _beliefs(group, threshold, small_regret)
    if found is None:
        return None
    winner = next((one for one in found.settings if one.setting == group.winner), None)
    return {
        **_setting(found.recommended),
        "level": LEVEL,
        "not_ruled_out": [_setting(one) for one in found.not_ruled_out],
        "winner_expected_regret": winner.regret if winner else None,
        "winner_probability": winner.probability if winner else None,
        "winner_qualifies": winner.qualifies if winner else None,
        "noise": found.noise.share,
        "trials": found.noise.trials,
        "repeats": found.noise.repeats,
        "more_seeds": found.more_seeds,
        "small_regret": small_regret,
    }


def not_recommended(group: Group) -> str | None:
    """Why `recommendation` says nothing of a group; None where nobody won."""
    return unfit(group) if group.winner else None


def _key(group: Group, threshold: float | None, small_regret: float) -> Any:
    """The same for groups of the same trials with the same numbers."""
    told = tuple(
        (one.trial, one.state, one.area, one.minimum_loss) for member in group.members for one in member.trials
    )
    return tuple(map(repr, group.key.items())), threshold, small_regret, told


@cached(LRUCache(_KEPT), key=_key, lock=Lock())
def _beliefs(group: Group, threshold: float | None, small_regret: float) -> Beliefs | None:
    return beliefs(group, threshold, small_regret)


def _setting(one: Belief) -> dict[str, Any]:
    return {
        "trial": one.setting.trial,
        "parameters": without_seed(one.setting.parameters),
        "expected_area": one.area,
        "area_interval": list(one.interval),
        "qualifies": one.qualifies,
        "probability": one.probability,
        "expected_regret": one.regret,
    }
