"""The Python interface over a service: the same data frames as over its store."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pandas as pd
import pytest

import sweeper
from sweeper.client import Client
from sweeper.errors import NotFoundError
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import summarize
from sweeper.store import Store, TrialRecord
from tests.dashboards.client import client_of
from tests.dashboards.sweeps import Result, curve
from tests.dashboards.sweeps import run as filled

pytestmark = pytest.mark.filterwarnings("ignore:You should not use the 'timeout' argument")  # of our client, not of it


def result(trial: TrialRecord) -> Result:
    return curve(4.0 / trial.workers, 1.2)


@pytest.fixture
def client(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A client whose service is in this process; what it copies goes into `tmp_path`."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = Client("http://127.0.0.1:8400")
    monkeypatch.setattr(made, "_http", client_of(store))
    return made


def test_frames_are_those_of_the_store(client: Client, store: Store) -> None:
    filled(store, {"workers": [1, 2], "batch_size": [16]}, result)
    theirs, ours = client.sweep("latest"), sweeper.open(store.name).sweep("latest")
    for table in ("trials", "curves", "evaluations", "phases", "best"):
        pd.testing.assert_frame_equal(getattr(theirs, table)(), getattr(ours, table)())
    with pytest.raises(NotFoundError, match="no such sweep"):
        client.sweep("nowhere")


def test_a_copy_is_made_again_when_a_trial_was_tried_again(client: Client, store: Store, tmp_path: Path) -> None:
    filled(store, {"workers": [1], "batch_size": [16]}, lambda _: TrialState.FAILED)
    sweep = client.sweep("latest")
    assert sweep.curves().empty
    store.sweeps.try_failed_again(sweep.id)
    (trial,) = store.trials.of(sweep.id)
    attempt = store.attempts.claim(trial.id)
    assert attempt == 2
    points = curve(1.0, 0.5)
    store.attempts.add_points(trial.id, attempt, points)
    store.attempts.finish(trial.id, attempt, TrialState.FAILED, summarize(points))  # the states are as before
    assert len(sweep.curves()) == len(points)
    assert len(list(tmp_path.glob("sweeper-copy-*"))) == 1, "an old copy is removed"
