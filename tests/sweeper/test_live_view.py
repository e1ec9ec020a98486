"""What views say of trials that keep their old results."""

from __future__ import annotations

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from sweeper.answers.standings import Standings
from sweeper.live_view import LineView, LiveView
from sweeper.plan import plan
from sweeper.ranking.curve import LossPoint
from sweeper.spec import parse_spec
from sweeper.store import Store
from tests.processes import eventually
from tests.sweeper.shared_trials import shared_trials


@pytest.mark.parametrize("kind", [LineView, LiveView])
def test_views_say_why_a_trial_keeps_its_old_result_and_count_it(
    store: Store, kind: type[LineView] | type[LiveView]
) -> None:
    one, other = shared_trials(store, "true {loss}", {"loss": [1, 2]})
    store.sweeps.repeat(one.sweep_id, [other.id])
    sweep, trials = store.sweeps.find(one.sweep_id), store.trials.of(one.sweep_id)
    console = Console(file=io.StringIO(), force_terminal=kind is LiveView, width=200)
    with kind(console, sweep, Standings(store, sweep)) as view:
        view.trial_started(trials[1])
        view.result_kept(other, "repetition failed, rank 0 died")
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "workers 1, loss 2: repetition failed, rank 0 died; it keeps its old result" in shown
    assert "2/2" in shown or "2 of 2 trials ended" in shown
    assert "starting" not in shown.split("keeps its old result")[-1]


@pytest.mark.parametrize("width", [40, 60, 120])
def test_live_progress_fits_a_narrow_terminal(store: Store, width: int) -> None:
    space = {"workers": [1, 2], "batch_size": [16], "optimizer": ["日本語" * 20]}
    trial = {"command": ["train", "{batch_size}", "{optimizer}"]}
    spec = parse_spec({"name": "very-long-" * 15, "trial": trial, "space": space})
    sweep = store.sweeps.find(store.sweeps.add(spec, plan(spec)))
    trials = store.trials.of(sweep.id)
    console = Console(file=io.StringIO(), force_terminal=True, width=width, height=40)
    with LiveView(console, sweep, Standings(store, sweep)) as view:
        view.trial_started(trials[0])
        view.point_reported(trials[0], LossPoint(1234, 56789, 123.45, 0.0123456))
        assert isinstance(console.file, io.StringIO)
        assert eventually(lambda: "0.012346" in console.file.getvalue())  # type: ignore[attr-defined]
    lines = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", console.file.getvalue()).replace("\r", "\n").splitlines()
    assert all(cell_len(line) <= width for line in lines)
    assert any(line.endswith("0.012346") for line in lines)
    assert any("0/2" in line for line in lines)
