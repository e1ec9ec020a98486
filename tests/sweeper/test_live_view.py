"""What views say of trials that keep their old results."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from sweeper.live_view import LineView, LiveView
from sweeper.store import Store
from tests.sweeper.shared_trials import shared_trials


@pytest.mark.parametrize("kind", [LineView, LiveView])
def test_views_say_why_a_trial_keeps_its_old_result_and_count_it(
    store: Store, kind: type[LineView] | type[LiveView]
) -> None:
    one, other = shared_trials(store, "true {loss}", {"loss": [1, 2]})
    store.sweeps.repeat_oversubscribed(one.sweep_id, [other.id])
    sweep, trials = store.sweeps.find(one.sweep_id), store.trials.of(one.sweep_id)
    console = Console(file=io.StringIO(), force_terminal=kind is LiveView, width=200)
    with kind(console, sweep, trials) as view:
        view.trial_started(trials[1])
        view.result_kept(other, "repetition failed, rank 0 died")
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "workers 1, loss 2: repetition failed, rank 0 died; it keeps its old result" in shown
    assert "2/2" in shown or "2 of 2 trials ended" in shown
    assert "starting" not in shown.split("keeps its old result")[-1]
