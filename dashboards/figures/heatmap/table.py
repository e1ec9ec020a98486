"""The cells of a heatmap, from the table of trials: which look each has and what is written in it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboards.figures.tables import (
    BATCH_SIZE,
    LEARNING_RATE,
    Outcome,
    TrialGroup,
    TrialRow,
    TrialTable,
    check_areas,
)
from sweeper.errors import FigureError
from sweeper.plan.trial import TrialState
from sweeper.ranking import sort_key

# Why a trial has no area, the more noteworthy first: the letter in its cell and the letter's meaning.
LETTERS: dict[TrialState, tuple[str, str]] = {
    TrialState.FAILED: ("F", "failed"),
    TrialState.RUNNING: ("R", "running"),
    TrialState.PENDING: ("W", "waiting"),
    TrialState.PRUNED: ("P", "pruned"),
    TrialState.CANCELLED: ("C", "cancelled"),
    TrialState.COMPLETED: ("N", "no area"),
}
_OUTCOMES = list(Outcome)
_STATES = list(LETTERS)


@dataclass(frozen=True)
class Areas:
    """The trials that a heatmap shows, and the ids of those whose settings are `not_ruled_out` as the best.

    None where that is not known of any group.
    """

    trials: TrialTable
    not_ruled_out: frozenset[str] | None = None


def areas(trials: TrialTable, answers: Iterable[Mapping[str, Any]]) -> Areas:
    """What a heatmap shows; `answers` as in `Source`, without what is recommended where that is not known.

    Raises:
        FigureError: no trial has an area.
    """
    check_areas(trials)
    told = [one for answer in answers if (one := answer.get("recommended"))]
    if not told:
        return Areas(trials)
    return Areas(trials, frozenset(setting["trial"] for one in told for setting in one["not_ruled_out"]))


@dataclass(frozen=True)
class Cell:
    """One (batch size, learning rate) of a group: the look, its text, and how many trials it stands for.

    `state` is that of the trial shown, None where the plan has no trial here. A `rival` has a trial whose setting is
    not ruled out as the best of its group.
    """

    outcome: Outcome
    area: float | None
    state: TrialState | None
    count: int
    winner: bool
    derived: bool = False
    at_chance: bool = False
    rival: bool = False

    @property
    def letter(self) -> str:
        """Why a cell has no result; empty for all others and for a cell without trials."""
        unseen = self.outcome is Outcome.NO_RESULT and self.state is not None
        return LETTERS[self.state][0] if unseen and self.state in LETTERS else ""


@dataclass(frozen=True)
class Grid:
    """The cells of a group: `cells[row][column]` for `batch_sizes` and `learning_rates`, both in numeric order."""

    group: TrialGroup
    batch_sizes: tuple[Any, ...]
    learning_rates: tuple[Any, ...]
    cells: tuple[tuple[Cell, ...], ...]

    @property
    def flat(self) -> list[Cell]:
        """All cells, row after row."""
        return [cell for line in self.cells for cell in line]


def grids(table: TrialTable, not_ruled_out: Collection[str] = ()) -> list[Grid]:
    """One grid per group, on the same axes for all unless batch size or learning rate tells the groups apart.

    `not_ruled_out` are trials, as in `Areas`.

    Raises:
        FigureError: trials without a batch size or a learning rate.
    """
    _check_settings(table)
    apart = any({table.batch_name, LEARNING_RATE} & group.key.keys() for group in table.groups)
    return [_grid(group, group.rows if apart else table.rows, not_ruled_out) for group in table.groups]


def cell(rows: Sequence[TrialRow], not_ruled_out: Collection[str] = ()) -> Cell:
    """What a cell shows of its trials, or settings (of further swept fields): the best one.

    The smallest area among the qualified; where none is, the smallest among those above the threshold, then among
    those at chance; else a diverged one; else one without a result, a failed one first.
    """
    if not rows:
        return Cell(Outcome.NO_RESULT, None, None, 0, False)
    best = min(rows, key=_place)
    rival = bool(not_ruled_out) and any(row.trial in not_ruled_out for row in rows)
    return Cell(
        best.outcome, _shown_area(best), best.state, len(rows), best.winner, best.derived, best.at_chance, rival
    )


def _shown_area(row: TrialRow) -> float | None:
    """The area of a whole curve; what a pruned trial came to is no area to compare."""
    return row.area if row.outcome.has_area else None


def _place(row: TrialRow) -> tuple[int, bool, float, int, int]:
    state = _STATES.index(row.state) if row.state in _STATES else len(_STATES)
    return (_OUTCOMES.index(row.outcome), not row.winner, _shown_area(row) or 0.0, state, row.position)


def _grid(group: TrialGroup, shown: Iterable[TrialRow], not_ruled_out: Collection[str]) -> Grid:
    shown = list(shown)
    batch_sizes = sorted({row.batch_size for row in shown}, key=sort_key)
    learning_rates = sorted({row.learning_rate for row in shown}, key=sort_key)
    members: dict[tuple[Any, Any], list[TrialRow]] = {}
    for row in group.rows:
        members.setdefault((row.batch_size, row.learning_rate), []).append(row)
    cells = tuple(
        tuple(cell(members.get((size, rate), ()), not_ruled_out) for rate in learning_rates) for size in batch_sizes
    )
    return Grid(group, tuple(batch_sizes), tuple(learning_rates), cells)


def _check_settings(table: TrialTable) -> None:
    for name, values in (
        (BATCH_SIZE, [row.batch_size for row in table.rows]),
        (LEARNING_RATE, [row.learning_rate for row in table.rows]),
    ):
        missing = values.count(None)
        if missing:
            trial = table.rows[values.index(None)].trial
            raise FigureError(
                f"sweep {table.name!r}: a heatmap needs {name}, which {missing} of {len(values)} trials lack "
                f"(first {trial})",
                f"give {name} when you import them, call a command's field so, or draw a histogram or curves",
            )
