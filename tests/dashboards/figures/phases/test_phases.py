"""The table of phases, and its figure."""

from __future__ import annotations

import pytest
from matplotlib.text import Text

from dashboards.figures.phases.drawing import draw_phases
from dashboards.figures.phases.table import phase_table, phases_csv
from dashboards.figures.tables import trial_table
from sweeper.errors import FigureError
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import summarize
from sweeper.store import Store
from tests.dashboards.sweeps import curve, run, submit


def phased(store: Store) -> str:
    """Two rates on two worker counts; the second rate is better, and on two workers derived."""
    sweep = submit(store, {"learning_rate": [0.1, 0.5], "workers": [1, 2, 4]}, name="日本 <b>")
    trials = store.trials.of(sweep)
    for trial in trials:
        if trial.workers == 4:
            continue
        attempt = store.attempts.claim(trial.id)
        assert attempt is not None
        points = curve(4.0 - 2 * trial.parameters["learning_rate"], 1.5)
        store.attempts.add_points(trial.id, attempt, points)
        source = trials[0].id if trial.workers == 2 and trial.parameters["learning_rate"] == 0.5 else None
        phases = {} if source else {"zeta": 0.5, "gather": 1.0, "compute": trial.parameters["learning_rate"]}
        state = TrialState.COMPLETED
        store.attempts.finish(trial.id, attempt, state, summarize(points), phases=phases, derived_from=source)
    return sweep


def test_each_group_has_the_phases_of_its_best_trial_that_ran_itself(store: Store) -> None:
    table = phase_table(store, trial_table(store, store.sweeps.find(phased(store))))
    assert table.phases == ("compute", "gather", "zeta")
    assert [dict(row.seconds) for row in table.rows] == [
        {"compute": 0.5, "gather": 1.0, "zeta": 0.5},
        {"compute": 0.1, "gather": 1.0, "zeta": 0.5},
        {},
    ]
    assert table.rows[2].trial is None
    lines = phases_csv(table).splitlines()
    names = ("compute", "gather", "zeta")
    totals, means = (",".join(f"{name}_{unit}" for name in names) for unit in ("seconds", "seconds_per_step"))
    assert lines[0] == f"workers,trial,{totals},{means}"
    steps = curve(1.0, 1.5)[-1].step
    assert lines[1].endswith(f",0.5,1.0,0.5,{0.5 / steps},{1.0 / steps},{0.5 / steps}")
    assert lines[3] == "4,,,,,,,"


def test_the_figure_tells_shares_and_what_is_missing(store: Store) -> None:
    figure = draw_phases(phase_table(store, trial_table(store, store.sweeps.find(phased(store)))))
    texts = [text.get_text() for text in figure.findobj(Text) if isinstance(text, Text)]
    assert {"25%", "50%", "2.000 s", "1.600 s", "no phases recorded", "1 worker"} <= set(texts)


def test_no_phases_at_all_are_a_clear_error(store: Store) -> None:
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: curve(1.0, 1.0))
    with pytest.raises(FigureError, match="have recorded no phases"):
        phase_table(store, trial_table(store, sweep))
