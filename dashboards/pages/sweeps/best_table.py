"""The best of each group as a table of words: the same for the page and for the script that asks anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dashboards.pages.rendering import measure_words, parameters_words
from dashboards.pages.sweeps.leaders import group_words
from sweeper.answers.certainty_words import (
    NO_THRESHOLD,
    interval_words,
    lacking,
    learnt_nothing,
    qualified_header,
    qualified_words,
    recommendation_lines,
    seeds_lines,
    separation_lines,
)
from sweeper.answers.derived import derived_lines
from sweeper.answers.numbers import dollars

_MOST_GROUPS = 200


def best_table(answer: Mapping[str, Any], options: str | None = None) -> dict[str, Any]:
    """{"columns", "rows": [{"cells", "href"}], "notes", "sure"} of the answer of `sweeper best`, all of it text.

    `options` are those with which `sweeper extend` means the same question; None where the sweep cannot be extended.
    `href` leads to the winner, empty where a group has none. It is "sure" where the answer has what is recommended.
    """
    groups = answer["groups"][:_MOST_GROUPS]
    winners = [group["winner"] for group in groups if group["winner"]]
    many = any(winner["repeats"] > 1 for winner in winners)
    evaluated = any(winner["accuracy"] is not None for winner in winners)
    columns = ["group", "best setting", f"area over {answer['over']}"]
    columns += ["interval", "seeds"] if many else []
    columns += ["minimum loss", "seconds", *(["accuracy"] if evaluated else []), qualified_header(groups), "in doubt"]
    return {
        "columns": columns,
        "rows": [_row(group, many=many, evaluated=evaluated) for group in groups],
        "notes": [*_how_sure(answer, groups, options), *_notes(answer, groups), *_extremes(answer)],
        "sure": any("recommended" in group for group in groups),
    }


def _row(group: Mapping[str, Any], *, many: bool, evaluated: bool) -> dict[str, Any]:
    winner = group["winner"]
    name = group_words(group["group"])
    counts = [qualified_words(group), str(len(group["in_doubt"]) or "–")]
    if winner is None:
        blank = ["–"] * (2 * many + 1)
        lowest = measure_words(group["best_minimum_loss"])
        cells = [name, "none qualified", *blank, lowest, "–", *(["–"] if evaluated else []), *counts]
        return {"cells": cells, "href": ""}
    setting = parameters_words(winner["parameters"], group["group"]) or "its only one"
    cells = [name, f"{setting}, derived" if winner["derived_from"] else setting, measure_words(winner["area"])]
    cells += [interval_words(winner["area_interval"]), str(winner["repeats"])] if many else []
    cells += [measure_words(winner["minimum_loss"]), measure_words(winner["seconds"])]
    cells += [measure_words(winner["accuracy"])] if evaluated else []
    return {"cells": [*cells, *counts], "href": f"/trials/{winner['trial']}"}


def _how_sure(answer: Mapping[str, Any], groups: Sequence[Mapping[str, Any]], options: str | None) -> list[str]:
    """What is recommended of each group and how sure that is, as far as it is known."""
    guessed = [group for group in groups if group["winner"] and group["winner"]["repeats"] == 1]
    why = dict.fromkeys(words for group in guessed if (words := group.get("not_recommended")))
    return [
        *recommendation_lines(groups),
        *separation_lines(groups),
        *([] if options is None else seeds_lines(answer, options)),
        *derived_lines(answer, None if options is None else ""),
        *(f"A winner is a guess: {one}." for one in why),
        *answer["notes"],
    ]


def _notes(answer: Mapping[str, Any], groups: list[Mapping[str, Any]]) -> list[str]:
    notes = [] if answer["threshold"] is not None else [f"{NO_THRESHOLD} Give one above, to leave such runs out."]
    if answer["risk"]:
        notes.append(f"Pruned by forecast: with a chance of at most {100 * answer['risk']:g} % a better was stopped.")
    if doubtful := sum(len(group["in_doubt"]) for group in groups):
        notes.append(
            f"{doubtful} pruned trial{'s' if doubtful > 1 else ''} might have won: stopped by another axis, threshold, "
            "floor or grouping, or by losses only."
        )
    notes += learnt_nothing(groups)
    notes += lacking(groups)
    if untimed := sum(group["oversubscribed"] for group in groups):
        notes.append(f"{untimed} oversubscribed left out, whose ranks shared cores or GPUs.")
    if unknown := answer["unknown_origin"]:
        notes.append(f"{unknown} imported left out: it is not known where their seconds begin.")
    if len(answer["groups"]) > len(groups):
        notes.append(f"The first {len(groups)} of {len(answer['groups'])} groups are shown; the CSV has them all.")
    return notes


def _extremes(answer: Mapping[str, Any]) -> list[str]:
    lines = []
    for what in ("cheapest", "fastest"):
        if one := answer[what]:
            lines.append(
                f"{what.capitalize()}: {parameters_words(one['parameters'])}; {dollars(one['dollars'])} of training in "
                f"{measure_words(one['seconds'])} s, area {measure_words(one['area_seconds'])} over seconds"
            )
    return lines
