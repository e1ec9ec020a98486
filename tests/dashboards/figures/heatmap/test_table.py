"""Which look a heatmap's cell has."""

from __future__ import annotations

import pytest

from dashboards.figures.heatmap.table import Cell, cell, grids
from dashboards.figures.tables import Outcome, TrialRow, trial_table
from sweeper.errors import FigureError
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import summarize
from sweeper.store import Store, TrialRecord
from tests.dashboards.sweeps import Result, curve, diverging, run


def row(outcome: Outcome, area: float | None = None, state: TrialState = TrialState.COMPLETED) -> TrialRow:
    """A trial with nothing but an outcome."""
    return TrialRow("t", 0, 1, 16, 0.1, {}, state, outcome, area, None, None, winner=False)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], Cell(Outcome.NO_RESULT, None, None, 0, False)),
        ([row(Outcome.QUALIFIED, 3.0)], Cell(Outcome.QUALIFIED, 3.0, TrialState.COMPLETED, 1, False)),
        (
            [row(Outcome.ABOVE_THRESHOLD, 1.0), row(Outcome.QUALIFIED, 3.0), row(Outcome.QUALIFIED, 2.0)],
            Cell(Outcome.QUALIFIED, 2.0, TrialState.COMPLETED, 3, False),
        ),
        (
            [row(Outcome.DIVERGED, state=TrialState.DIVERGED), row(Outcome.ABOVE_THRESHOLD, 1.0)],
            Cell(Outcome.ABOVE_THRESHOLD, 1.0, TrialState.COMPLETED, 2, False),
        ),
        (
            [row(Outcome.NO_RESULT, state=TrialState.FAILED), row(Outcome.DIVERGED, state=TrialState.DIVERGED)],
            Cell(Outcome.DIVERGED, None, TrialState.DIVERGED, 2, False),
        ),
        (
            [row(Outcome.NO_RESULT, state=TrialState.PENDING), row(Outcome.NO_RESULT, state=TrialState.FAILED)],
            Cell(Outcome.NO_RESULT, None, TrialState.FAILED, 2, False),
        ),
        (
            [row(Outcome.AT_CHANCE, 1.0), row(Outcome.ABOVE_THRESHOLD, 3.0)],
            Cell(Outcome.ABOVE_THRESHOLD, 3.0, TrialState.COMPLETED, 2, False),
        ),
        (
            [
                row(Outcome.DIVERGED, state=TrialState.DIVERGED),
                row(Outcome.AT_CHANCE, 2.0),
                row(Outcome.AT_CHANCE, 1.0),
            ],
            Cell(Outcome.AT_CHANCE, 1.0, TrialState.COMPLETED, 3, False),
        ),
        ([row(Outcome.NO_RESULT, 7.0, TrialState.PRUNED)], Cell(Outcome.NO_RESULT, None, TrialState.PRUNED, 1, False)),
    ],
)
def test_a_cell_shows_the_best_of_its_trials(rows: list[TrialRow], expected: Cell) -> None:
    assert cell(rows) == expected


@pytest.mark.parametrize(
    ("state", "letter"),
    [
        (TrialState.FAILED, "F"),
        (TrialState.RUNNING, "R"),
        (TrialState.PENDING, "W"),
        (TrialState.PRUNED, "P"),
        (TrialState.CANCELLED, "C"),
        (TrialState.COMPLETED, "N"),
    ],
)
def test_a_letter_says_why_a_cell_has_not_run(state: TrialState, letter: str) -> None:
    assert cell([row(Outcome.NO_RESULT, state=state)]).letter == letter


def test_no_letter_where_there_is_a_result_or_no_trial() -> None:
    assert cell([row(Outcome.QUALIFIED, 1.0)]).letter == ""
    assert cell([row(Outcome.DIVERGED, state=TrialState.DIVERGED)]).letter == ""
    assert cell([]).letter == ""


def test_axes_are_in_numeric_order_and_shared(store: Store) -> None:
    space = {"batch_size": [128, 16, 64], "learning_rate": [1.0, 0.05, 0.5], "workers": [10, 9]}
    sweep = run(store, space, lambda trial: curve(trial.workers, 1.5))
    shown = grids(trial_table(store, sweep))
    assert [grid.group.key["workers"] for grid in shown] == [9, 10]
    for grid in shown:
        assert grid.batch_sizes == (16, 64, 128)
        assert grid.learning_rates == (0.05, 0.5, 1.0)


def test_settings_that_a_group_lacks_are_cells_that_have_not_run(store: Store) -> None:
    points = curve(2.0, 1.5)
    given = [
        ({"workers": workers, "batch_size": size, "learning_rate": 0.1}, "a.log", points, summarize(points))
        for workers, size in ((1, 16), (1, 32), (2, 32))
    ]
    _, two = grids(trial_table(store, store.sweeps.find(store.sweeps.add_import("logs", given))))
    assert [line[0].outcome for line in two.cells] == [Outcome.NO_RESULT, Outcome.QUALIFIED]
    assert two.cells[0][0].count == 0


def test_groups_by_batch_size_have_axes_of_their_own(store: Store) -> None:
    space = {"batch_size": [16, 32], "learning_rate": [0.1, 0.2]}
    sweep = run(store, space, lambda _: curve(2.0, 1.5), group_by=["batch_size"])
    assert [grid.batch_sizes for grid in grids(trial_table(store, sweep))] == [(16,), (32,)]


def test_exactly_the_winner_is_marked_and_shown_with_its_area(store: Store) -> None:
    def result(trial: TrialRecord) -> Result:
        number, rate = int(10 * trial.parameters["momentum"]), trial.parameters["learning_rate"]
        if rate == 0.2:
            return diverging()
        return curve(5.0 - number, 1.5) if number < 2 else TrialState.FAILED

    sweep = run(store, {"learning_rate": [0.1, 0.2], "momentum": [0.0, 0.1, 0.2]}, result)
    (grid,) = grids(trial_table(store, sweep))
    first, second = grid.flat
    assert (first.winner, first.count, first.outcome) == (True, 3, Outcome.QUALIFIED)
    assert first.area == pytest.approx(4.0)
    assert second == Cell(Outcome.DIVERGED, None, TrialState.DIVERGED, 3, False)


def test_a_cell_is_the_mean_over_its_seeds_when_all_have_qualified(store: Store) -> None:
    def result(trial: TrialRecord) -> Result:
        seed, rate = trial.parameters["seed"], trial.parameters["learning_rate"]
        if rate == 0.2 and seed == 1:
            return diverging()
        return TrialState.RUNNING if rate == 0.3 and seed == 2 else curve(5.0 - seed, 1.5)

    (grid,) = grids(trial_table(store, run(store, {"learning_rate": [0.1, 0.2, 0.3]}, result, repeats=3)))
    first, second, third = grid.flat
    assert (first.winner, first.count, first.outcome) == (True, 1, Outcome.QUALIFIED)
    assert first.area == pytest.approx(4.0)
    assert second == Cell(Outcome.DIVERGED, None, TrialState.DIVERGED, 1, False)
    assert third == Cell(Outcome.NO_RESULT, None, TrialState.RUNNING, 1, False)


@pytest.mark.parametrize(
    ("given", "missing"), [({"learning_rate": 0.1}, "batch_size"), ({"batch_size": 16}, "learning_rate")]
)
def test_a_missing_setting_is_an_error_with_its_remedy(store: Store, given: dict[str, float], missing: str) -> None:
    points = curve(2.0, 1.5)
    whole = {"workers": 1, "batch_size": 16, "learning_rate": 0.1}
    curves = [(parameters, "a.log", points, summarize(points)) for parameters in (whole, {"workers": 1, **given})]
    sweep = store.sweeps.find(store.sweeps.add_import("logs", curves))
    with pytest.raises(FigureError, match=f"a heatmap needs {missing}, which 1 of 2 trials lack") as caught:
        grids(trial_table(store, sweep))
    assert f"give {missing} when you import them" in caught.value.remedy
