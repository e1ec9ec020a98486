"""The table of two sweeps side by side: the same axes, and the difference of areas in each cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboards.figures.tables import BATCH_SIZE, GLOBAL_BATCH_SIZE, MAXIMUM_GROUPS, Outcome, TrialRow, TrialTable
from dashboards.figures.tables.csv_text import csv_text
from dashboards.figures.words.numbers import setting
from sweeper.answers.differences import Difference
from sweeper.errors import FigureError
from sweeper.ranking import sort_key

_OUTCOMES = list(Outcome)
_SHOWN = 4  # differences of specs, in a figure
_Place = tuple[int, Any, Any]  # workers, batch size, learning rate


@dataclass(frozen=True)
class ComparedCell:
    """A setting of both sweeps, or of one: each one's best trial there, None where it has none.

    `difference` is the second's area less the first's, None unless both have one; `relative` the same as a share of the
    first's, None where that is zero.
    """

    workers: int
    batch_size: Any
    learning_rate: Any
    first: TrialRow | None
    second: TrialRow | None

    @property
    def areas(self) -> tuple[float | None, float | None]:
        """The areas of whole curves that both sweeps have here."""
        return _area(self.first), _area(self.second)

    @property
    def difference(self) -> float | None:
        """Area of the second less that of the first: negative where the second is better."""
        before, after = self.areas
        return None if before is None or after is None else after - before

    @property
    def relative(self) -> float | None:
        """The difference as a share of the first's area."""
        before, difference = self.areas[0], self.difference
        if difference is None or not before or not math.isfinite(difference / before):
            return None
        return difference / before


@dataclass(frozen=True)
class Comparison:
    """Two sweeps over one axis: `cells` in numeric order of workers, batch size and rate, of all that either has.

    `differences` are those of the specs. Where one gives batches by worker and the other of all together, `batch_name`
    is that of all together.
    """

    first: TrialTable
    second: TrialTable
    batch_name: str
    cells: tuple[ComparedCell, ...]
    differences: tuple[Difference, ...] = ()

    @property
    def workers(self) -> tuple[int, ...]:
        """The worker counts that either has."""
        return tuple(sorted({cell.workers for cell in self.cells}))


def comparison(
    first: TrialTable, second: TrialTable, differences: Sequence[Difference] = (), *, unlike: bool = False
) -> Comparison:
    """What came of the same settings in two sweeps, each by its own threshold.

    Of several trials at one place (further parameters that vary) the best one counts: the smallest area of the
    qualified, else of those above the threshold. `unlike` compares areas over different budgets and by different
    thresholds, too.

    Raises:
        FigureError: their areas are over different axes, or their budgets or thresholds differ.
    """
    if first.over != second.over:
        raise FigureError(
            f"areas of {first.name!r} are over {first.over}, those of {second.name!r} over {second.over}",
            "have both over the same axis",
            option="--over",
        )
    same = first.batch_name == second.batch_name
    batch_name = first.batch_name if same else GLOBAL_BATCH_SIZE
    before, after = _places(first, batch_name), _places(second, batch_name)
    places = sorted({**before, **after}, key=lambda place: [sort_key(value) for value in place])
    cells = tuple(ComparedCell(*place, before.get(place), after.get(place)) for place in places)
    if not unlike and (reasons := _why_unlike(first, second, cells)):
        raise FigureError(
            f"{first.name!r} and {second.name!r} cannot be compared by their areas: {'; '.join(reasons)}",
            "compare sweeps that are alike in this, or allow unlike ones",
            option="--allow-unlike",
        )
    return Comparison(first, second, batch_name, cells, tuple(differences))


def _why_unlike(first: TrialTable, second: TrialTable, cells: Sequence[ComparedCell]) -> list[str]:
    reasons = []
    if first.threshold != second.threshold:
        before, after = ("none" if one.threshold is None else f"{one.threshold:g}" for one in (first, second))
        reasons.append(f"their thresholds are {before} and {after}")
    trained = [cell for cell in cells if None not in cell.areas]
    budgets = ((cell.first.images, cell.second.images) for cell in trained if cell.first and cell.second)
    if unequal := next((pair for pair in budgets if pair[0] != pair[1]), None):
        before, after = ("an unknown number of" if images is None else f"{images:,}" for images in unequal)
        reasons.append(f"their trials saw {before} and {after} images")
    return reasons


def _places(table: TrialTable, batch_name: str) -> Mapping[_Place, TrialRow]:
    found: dict[_Place, TrialRow] = {}
    for row in table.rows:
        size = row.batch_size
        if size is not None and table.batch_name == BATCH_SIZE and batch_name == GLOBAL_BATCH_SIZE:
            size *= row.workers
        place = (row.workers, size, row.learning_rate)
        if place not in found or _order(row) < _order(found[place]):
            found[place] = row
    return found


def _order(row: TrialRow) -> tuple[int, float, int]:
    return (_OUTCOMES.index(row.outcome), _area(row) or 0.0, row.position)


def _area(row: TrialRow | None) -> float | None:
    if row is None or not row.outcome.has_area:
        return None
    return row.area


def check_comparison(table: Comparison) -> None:
    """Refuse what would be no picture. Raises FigureError."""
    if any(cell.batch_size is None or cell.learning_rate is None for cell in table.cells):
        raise FigureError(
            f"{table.first.name!r} and {table.second.name!r}: some trials lack a batch size or a learning rate",
            "import them again with both",
            option="--set batch_size=VALUE, or --pattern",
        )
    if len(table.workers) > MAXIMUM_GROUPS:
        raise FigureError(
            f"{len(table.workers)} worker counts, a figure shows at most {MAXIMUM_GROUPS}", "compare smaller sweeps"
        )


def differences_words(differences: Sequence[Difference]) -> str:
    """What differs in the specs, in a sentence; the first few by their values. Empty where nothing does."""
    if not differences:
        return ""
    shown = [f"{one.field} {_value(one.first)} / {_value(one.second)}" for one in differences[:_SHOWN]]
    more = f" and {len(differences) - _SHOWN} more" if len(differences) > _SHOWN else ""
    return f"The specs differ in {', '.join(shown)}{more}."


def _value(value: Any) -> str:
    return "–" if value is None else setting(value)


def colour_span(cells: Sequence[ComparedCell]) -> float:
    """The share at which colours end, for gains and losses alike: the largest one, twofold at most; a tenth of none."""
    largest = max((abs(cell.relative) for cell in cells if cell.relative is not None), default=0.0)
    return min(largest, 1.0) or 0.1


def comparison_csv(table: Comparison) -> str:
    """A line for each setting of either sweep, with the difference of areas."""
    sides = [f"{side}_{what}" for side in ("first", "second") for what in ("trial", "outcome", "area")]
    lines = (
        [
            cell.workers,
            cell.batch_size,
            cell.learning_rate,
            *_side(cell.first, cell.areas[0]),
            *_side(cell.second, cell.areas[1]),
            cell.difference,
            cell.relative,
        ]
        for cell in table.cells
    )
    return csv_text(["workers", table.batch_name, "learning_rate", *sides, "difference", "relative"], lines)


def _side(row: TrialRow | None, area: float | None) -> list[Any]:
    return [None, None, None] if row is None else [row.trial, row.outcome.value, area]
