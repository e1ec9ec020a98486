"""Derived trials on which an answer hangs, and by how much those that were trained after all had been off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sweeper.ranking import Group
from sweeper.ranking.curve import summarize
from sweeper.ranking.settings import setting_key
from sweeper.store import Store, SweepRecord

_FIRST = 2  # of a ranking, where nothing is known of the chances


def derived_candidates(group: Group, recommended: Mapping[str, Any] | None) -> list[str]:
    """The derived trials of the settings that may be the best of a group: the winner, and who is not ruled out.

    Where nothing is recommended these are the first two. Oversubscribed trials are left out, whose times say little.
    """
    first = group.ranking[: 1 if recommended else _FIRST]
    settings = [one.parameters for one in first]
    settings += [one["parameters"] for one in recommended["not_ruled_out"]] if recommended else []
    keys = {setting_key(parameters) for parameters in settings}
    trials = (trial for one in group.members if setting_key(one.parameters) in keys for trial in one.trials)
    return [trial.trial for trial in trials if trial.complete and trial.derived_from and not trial.oversubscribed]


def trained_again(store: Store, sweep: SweepRecord) -> dict[str, Any] | None:
    """{"trials", "largest_difference"}: how many derived trials were trained afterwards, and how far off they had been.

    The differences are of areas over "seconds" and over "images", relative to the trained ones. None where there are no
    such trials, or their areas are not above zero.
    """
    if sweep.spec.reuse == "none":
        return None
    pairs = [
        (summarize(store.attempts.points(trial, attempt)), summarize(store.attempts.points(trial)))
        for trial, attempt in store.attempts.derived_before(sweep.id)
    ]
    over_seconds = [_difference(derived.area_seconds, trained.area_seconds) for derived, trained in pairs]
    over_images = [_difference(derived.area_images, trained.area_images) for derived, trained in pairs]
    if not pairs or None in (*over_seconds, *over_images):
        return None
    largest = {"seconds": max(filter(None, over_seconds), default=0.0)}
    largest["images"] = max(filter(None, over_images), default=0.0)
    return {"trials": len(pairs), "largest_difference": largest}


def _difference(derived: float | None, trained: float | None) -> float | None:
    return abs(derived / trained - 1) if derived and trained else None


def derived_lines(answer: Mapping[str, Any], options: str | None) -> Iterator[str]:
    """What people are told of both; `options` are those of the command that trains derived trials, None without one."""
    if told := answer.get("trained_again"):
        one = told["trials"] == 1
        what = "1 derived trial was trained" if one else f"{told['trials']} derived trials were trained"
        most = " and ".join(f"{_percent(share)} over {axis}" for axis, share in told["largest_difference"].items())
        yield f"{what} after all: {'its area' if one else 'their areas'} had been off by at most {most}."
    groups: Sequence[Mapping[str, Any]] = answer["groups"]
    if number := sum(len(group.get("derived_candidates", ())) for group in groups):
        trials, are = ("trial", "is") if number == 1 else ("trials", "are")
        remedy = "" if options is None else f" To train for real: `sweeper rerun {answer['sweep']} --derived{options}`"
        yield f"{number} {trials} of the settings that may be the best {are} derived from others.{remedy}"


def _percent(share: float) -> str:
    return "less than 0.1 %" if share < 0.001 else f"{100 * share:.2g} %"
