"""The table of parallel coordinates."""

from __future__ import annotations

from dashboards.figures.coordinates.table import coordinate_table, coordinates_csv
from dashboards.figures.tables import trial_table
from sweeper.store import Store
from tests.dashboards.sweeps import curve, run


def test_coordinates_are_all_that_varies(store: Store) -> None:
    space = {"learning_rate": [0.5, 0.1], "workers": [1, 2], "exchange.average": ["weights", "gradients"]}
    table = coordinate_table(trial_table(store, run(store, space, lambda _: curve(1.0, 1.0))))
    assert {dimension.name: dimension.values for dimension in table.dimensions} == {
        "workers": (1, 2),
        "learning_rate": (0.1, 0.5),
        "exchange.average": ("gradients", "weights"),
    }
    assert len(table.rows) == 8
    assert coordinates_csv(table).splitlines()[0].startswith("trial,workers,learning_rate,exchange.average,state,")


def test_one_trial_has_no_dimension_and_one_row(store: Store) -> None:
    table = coordinate_table(trial_table(store, run(store, {"learning_rate": [0.1]}, lambda _: curve(1.0, 1.0))))
    assert table.dimensions == ()
    assert [row.values for row in table.rows] == [()]
