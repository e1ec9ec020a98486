"""A trial's marks and its area, in words for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sweeper.answers.numbers import measure

# What sets a trial apart from others in its state: the field of its answer, and the word for it.
_MARKS = {"derived_from": "derived", "oversubscribed": "oversubscribed", "at_chance": "at chance"}


def marks_of(trial: Mapping[str, Any]) -> list[str]:
    """What is to be said of a trial of `sweeper.answers.sweeps.trial_answer` beside its state."""
    return [word for name, word in _MARKS.items() if trial[name]]


def area_words(area: float | None, *, is_bound: bool, none: str = "-") -> str:
    """An area; one of a trial that ended early is a lower bound, as in "≥ 0.97000"."""
    if area is None:
        return none
    return f"≥ {measure(area)}" if is_bound else measure(area)


def state_words(trial: Mapping[str, Any]) -> str:
    """A trial's state with its marks, as in "completed, at chance"."""
    return ", ".join([trial["state"], *marks_of(trial)])


def footnotes(trials: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence for each mark, and for bounds, that needs one; only of what occurs."""
    lines = []
    if any(trial["area_is_bound"] for trial in trials):
        lines.append("≥: the trial ended early, and its area is a lower bound.")
    if any(trial["at_chance"] for trial in trials):
        lines.append("at chance: the trial never learnt; its loss stayed above 95 % of what guessing gives.")
    if any(trial["oversubscribed"] for trial in trials):
        lines.append("oversubscribed: ranks shared cores or GPUs; the area over seconds is not ranked.")
    return lines
