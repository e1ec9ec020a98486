"""What `best` recommends of a sweep whose settings have one seed each."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from sweeper.answers.recommendation import _beliefs
from sweeper.store import SweepRecord
from sweeper.store.store import Store
from tests.dashboards.sweeps import curve
from tests.dashboards.sweeps import run as run_sweep

SPACE = {"batch_size": [32, 64, 128], "learning_rate": [0.05, 0.1, 0.2, 0.4], "workers": [1, 2]}
FIELDS = {"trial", "parameters", "expected_area", "area_interval", "qualifies", "probability", "expected_regret"}


def area(parameters: dict[str, Any]) -> float:
    """Smallest at batch size 64 and rate 0.1."""
    far = math.log2(parameters["batch_size"] / 64) ** 2 + math.log2(parameters["learning_rate"] / 0.1) ** 2
    return 3.0 * math.exp(0.1 * far)


@pytest.fixture
def sweep(store: Store) -> SweepRecord:
    return run_sweep(store, SPACE, lambda trial: curve(area(trial.parameters), 0.3), name="grid")


@pytest.mark.usefixtures("sweep")
def test_the_answer_has_what_is_recommended_and_how_sure_it_is(run: Any) -> None:
    for group in json.loads(run("best", "grid", "--json")[1])["groups"]:
        told = group["recommended"]
        assert told.keys() > FIELDS
        assert all(set(one) == FIELDS for one in told["not_ruled_out"])
        assert told["trial"] in {one["trial"] for one in told["not_ruled_out"]}
        assert told["area_interval"][0] < told["expected_area"] < told["area_interval"][1]
        assert 0 < told["probability"] <= 1
        assert 0 <= told["expected_regret"] <= told["winner_expected_regret"]
        assert (told["trials"], told["repeats"], told["level"], told["small_regret"]) == (12, 0, 0.95, 0.005)


@pytest.mark.usefixtures("sweep")
def test_people_read_a_sentence_on_each_group(run: Any) -> None:
    out = " ".join(run("best", "grid")[1].split())
    for workers in (1, 2):
        assert f"workers {workers}: take the winner. The chance that it is the best is " in out
    assert "a winner is a guess" not in out


@pytest.mark.usefixtures("sweep")
def test_a_spec_of_winners_needs_no_model_and_an_answer_is_computed_once(run: Any) -> None:
    kept = _beliefs.cache
    assert kept is not None
    kept.clear()
    run("best", "grid", "--spec")
    assert not kept
    first = run("best", "grid", "--json")[1]
    assert len(kept) == 2
    assert run("best", "grid", "--json")[1] == first
    assert len(kept) == 2
    run("best", "grid", "--json", "--threshold", "0.5")
    assert len(kept) == 4
