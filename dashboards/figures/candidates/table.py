"""The settings that are not ruled out as the best of their group, from what `sweeper best` recommends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashboards.figures.base import Source
from dashboards.figures.tables import TrialGroup, TrialRow, TrialTable, check_areas, check_groups
from dashboards.figures.tables.csv_text import csv_text, group_names
from dashboards.figures.words.labels import nearest_name, trial_name
from sweeper.errors import FigureError

MOST_SHOWN = 20  # of a group; the CSV has all
_SAFE = 0.9  # the share of runs that come to the threshold, from which on nothing is said of it


@dataclass(frozen=True)
class Candidate:
    """A setting: its `row`, and what is believed of it, as in `sweeper.answers.recommendation`.

    `area` is what it is expected to be, and lies from `low` to `high` with a chance of 95 %. `qualifies` is the share
    of its runs that come to the threshold.
    """

    row: TrialRow
    area: float
    low: float
    high: float
    probability: float
    regret: float
    qualifies: float
    recommended: bool

    @property
    def chance(self) -> str:
        """How likely it is the best in words, and how often it qualifies where that is not almost always."""
        percent = f"{100 * self.probability:.0f} %"
        percent = "> 99 %" if self.probability > 0.99 else "< 1 %" if self.probability < 0.01 else percent
        return percent if self.qualifies >= _SAFE else f"{percent}; {100 * self.qualifies:.0f} % qualify"


@dataclass(frozen=True)
class CandidateGroup:
    """The candidates of a group, likeliest first; where there are none, `why` in words."""

    group: TrialGroup
    candidates: tuple[Candidate, ...]
    why: str = ""

    @property
    def shown(self) -> tuple[Candidate, ...]:
        """Those that a picture has room for: the likeliest, and the recommended one."""
        first = self.candidates[:MOST_SHOWN]
        return first + tuple(one for one in self.candidates[MOST_SHOWN:] if one.recommended)


@dataclass(frozen=True)
class CandidateTable:
    """The candidates of all groups of the `trials`."""

    trials: TrialTable
    groups: tuple[CandidateGroup, ...]


def candidate_table(source: Source) -> CandidateTable:
    """The candidates of each group.

    Raises:
        FigureError: no trial has an area, nothing is recommended of any group, or there are too many groups.
    """
    trials = source.trials
    check_areas(trials)
    check_groups(trials)
    answers = source.answers(True)
    if not any("recommended" in answer for answer in answers):
        raise FigureError(
            f"sweep {trials.name!r}: how sure the answer is has not been computed: trials are running, or another view "
            "of the sweep was asked for",
            "look again when they have ended",
        )
    groups = tuple(_candidates(group, answer, trials) for group, answer in zip(trials.groups, answers, strict=True))
    if not any(one.candidates for one in groups):
        why = "; ".join(dict.fromkeys(one.why for one in groups))
        raise FigureError(f"sweep {trials.name!r}: nothing is recommended of any group: {why}", "run more trials")
    return CandidateTable(trials, groups)


def _candidates(group: TrialGroup, answer: Mapping[str, Any], trials: TrialTable) -> CandidateGroup:
    told = answer["recommended"]
    if told is None:
        return CandidateGroup(group, (), answer["not_recommended"] or nearest_name(group, trials))
    rows = {row.trial: row for row in group.rows}
    found = [_candidate(one, rows[one["trial"]], told["trial"]) for one in told["not_ruled_out"]]
    return CandidateGroup(group, tuple(sorted(found, key=lambda one: -one.probability)))


def _candidate(one: Mapping[str, Any], row: TrialRow, recommended: str) -> Candidate:
    low, high = one["area_interval"]
    return Candidate(
        row=row,
        area=one["expected_area"],
        low=low,
        high=high,
        probability=one["probability"],
        regret=one["expected_regret"],
        qualifies=one["qualifies"],
        recommended=row.trial == recommended,
    )


def names_of(group: CandidateGroup, trials: TrialTable) -> list[str]:
    """What the shown candidates are called, as in "batch 256, rate 0.3"."""
    return [trial_name(one.row, trials) for one in group.shown]


def candidates_csv(table: CandidateTable) -> str:
    """A line for each candidate."""
    trials = table.trials
    groups = [name for name in group_names(trials) if name != "workers"]
    others = list(dict.fromkeys(name for row in trials.rows for name in row.others))
    header = [*groups, "workers", trials.batch_name, "learning_rate", *others, "trial", f"area_{trials.over}"]
    header += ["repeats", "expected_area", "low", "high", "probability", "expected_regret", "qualifies", "recommended"]
    lines = (
        [
            *map(one.group.key.get, groups),
            *(found.row.workers, found.row.batch_size, found.row.learning_rate),
            *map(found.row.others.get, others),
            *(found.row.trial, found.row.area, found.row.repeats, found.area, found.low, found.high),
            *(found.probability, found.regret, found.qualifies, found.recommended),
        ]
        for one in table.groups
        for found in one.candidates
    )
    return csv_text(header, lines)
