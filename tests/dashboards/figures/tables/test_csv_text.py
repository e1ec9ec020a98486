"""Tables as CSV text."""

from __future__ import annotations

import math
from dataclasses import replace

from dashboards.figures.tables import trial_table
from dashboards.figures.tables.csv_text import trials_csv
from sweeper.store import Store
from tests.dashboards.sweeps import curve, run


def test_a_text_that_a_spreadsheet_would_run_is_quoted(store: Store) -> None:
    space = {"learning_rate": [0.1], "exchange.average": ["weights", "gradients"]}
    table = trial_table(store, run(store, space, lambda _: curve(1.0 / 3, 1.0)))
    row = table.rows[0]._replace(others={"exchange.average": '=HYPERLINK("x"),\n'}, minimum_loss=math.nan)
    hostile = replace(table, groups=(replace(table.groups[0], rows=(row,)),))
    text = trials_csv(hostile)
    assert '"\'=HYPERLINK(""x""),\n"' in text
    assert ",nan," in text
    assert repr(row.area) in text
