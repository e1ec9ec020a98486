"""Whether seeds of one setting took as long as each other: on a busy machine they do not, and their areas differ."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from sweeper.plan.trial import TrialState
from sweeper.ranking import Key
from sweeper.ranking.settings import setting_key
from sweeper.store import Store, TrialRecord

_UNEVEN = 1.3  # times as long


def pace_ratios(trials: Sequence[TrialRecord]) -> list[float]:
    """Of each setting with several seeds, how many times as long an image took in the slowest as in the fastest."""
    paces: dict[Key, list[float]] = {}
    for trial in trials:
        if trial.seconds and trial.images and not trial.derived_from:
            paces.setdefault(setting_key(trial.parameters), []).append(trial.seconds / trial.images)
    return [max(some) / min(some) for some in paces.values() if len(some) > 1]


def uneven_pace_words(store: Store, sweep_id: str) -> str:
    """That times of seeds do not compare, in a sentence; empty where they do, or no setting has several."""
    ratios = pace_ratios(store.trials.of(sweep_id, [TrialState.COMPLETED]))
    if not ratios or median(ratios) < _UNEVEN:
        return ""
    return (
        f"Seeds of one setting took up to {max(ratios):.1f} times as long as each other, so the machine was busier at "
        "some times than at others, and areas over seconds say so. `--over images` compares without it."
    )
