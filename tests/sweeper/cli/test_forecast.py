"""`sweeper forecast` on sweeps that ran and on such as have no forecast. Real gangs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import parse_spec
from sweeper.store.store import Store
from tests.sweeper.cli.commands import begin

SPEC = """
name: small
trial: {model: neuron, data: step-function, images: 3200, points: 10}
space: {workers: [1, 2], batch_size: [16, 32, 64], learning_rate: [0.1]}
objective: {threshold: 10}
"""


def test_a_sweep_of_one_and_two_workers_says_what_four_would_come_to(spec: Path) -> None:
    running = begin("run", str(spec), "--executor", "local", "--json")
    _, err = running.communicate(timeout=200)
    assert running.returncode == 0, err
    asked = ("forecast", "small", "--workers", "4,2", "--dollars-per-hour", "2", "--top", "3")
    out, err = begin(*asked, "--json").communicate(timeout=100)
    answer = json.loads(out)
    assert err == ""
    assert (answer["predicted"], answer["measured_workers"], answer["over"]) == (True, [1, 2], "seconds")
    four, two = answer["workers"]
    assert (four["workers"], four["measured"], two["measured"], len(four["best"])) == (4, False, True, 3)
    for one in four["best"]:
        assert one["predicted"] is True
        assert one["parameters"]["workers"] == 4
        assert one["area_interval"][0] <= one["area"] <= one["area_interval"][1]
        assert one["steps"] == math.ceil(3200 / (4 * one["parameters"]["batch_size"]))
        assert one["dollars"] == pytest.approx(one["seconds"] * 4 * 2 / 3600)
    curves = {one["parameters"]["batch_size"]: one["curve"] for one in four["best"] + two["best"]}
    assert "measured" in curves.values()
    assert answer["errors"] == []
    out, _ = begin(*asked).communicate(timeout=100)
    assert "nothing of this was run" in out
    assert "predicted area" in out
    assert "workers 2: the sweep has run this count" in out
    assert "takes three worker counts" in out


@pytest.fixture
def forecast(run: Any) -> Any:
    """`sweeper forecast` by `run`."""
    return lambda *arguments: run("forecast", *arguments)


def ended(store: Store, written: dict[str, Any], oversubscribed: bool = False) -> None:
    """A sweep all of whose trials have the same curve by steps."""
    spec = parse_spec(written)
    sweep = store.sweeps.add(spec, plan(spec))
    for trial in store.trials.of(sweep):
        points = [LossPoint(n, 100 * n, 0.1 * n * trial.workers, 2.0 / n) for n in range(1, 4)]
        attempt = store.attempts.claim(trial.id)
        assert attempt
        store.attempts.add_points(trial.id, attempt, points)
        store.attempts.finish(trial.id, attempt, TrialState.COMPLETED, summarize(points), oversubscribed=oversubscribed)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"trial": {"exchange": {"average": "weights"}}}, "exchange.average is weights; use gradients"),
        ({"trial": {"model": "resnet-20"}}, "model resnet-20 may learn otherwise"),
        ({"trial": {"command": ["python", "x.py"]}}, "trial is a command; use the engine's own training"),
        ({"space": {"workers": [2]}}, "has completed trials only of 2 workers"),
    ],
)
def test_sweeps_that_have_no_forecast_say_why(forecast: Any, store: Store, written: dict[str, Any], words: str) -> None:
    ended(store, {"name": "x", "space": {"workers": [1, 2]}, **written})
    code, out, err = forecast("x", "--workers", "4")
    assert (code, out) == (1, "")
    assert words in err
    assert len(err.splitlines()) == 1


def test_an_import_and_oversubscribed_times_have_no_forecast(forecast: Any, store: Store) -> None:
    points = [LossPoint(1, 10, 1.0, 1.0), LossPoint(2, 20, 2.0, 0.5)]
    store.sweeps.add_import("logs", [({"workers": w}, f"{w}.log", points, summarize(points)) for w in (1, 2)])
    code, _, err = forecast("logs", "--workers", "4")
    assert code == 1
    assert "logs" in err
    assert "is an import" in err
    ended(store, {"name": "x", "space": {"workers": [1, 2]}}, oversubscribed=True)
    assert "of no worker count (oversubscribed ones tell no times)" in forecast("x", "--workers", "4")[2]


@pytest.mark.parametrize("given", ["0", "-4", "4,", "x", "1.5", "1e3", "9999999", "²"])
def test_what_is_no_worker_count_is_refused(forecast: Any, store: Store, given: str) -> None:
    ended(store, {"name": "x", "space": {"workers": [1, 2]}})
    code, _, err = forecast("x", "--workers", given)
    assert code == 2
    assert "is no worker count; give whole numbers from 1 to" in err


def test_other_bad_numbers_are_refused(forecast: Any, store: Store) -> None:
    ended(store, {"name": "x", "space": {"workers": [1, 2]}})
    assert forecast("x")[0] == 2
    for option, value in (("--top", "0"), ("--threshold", "nan"), ("--dollars-per-hour", "-1"), ("--over", "epochs")):
        code, _, err = forecast("x", "--workers", "4", option, value)
        assert (code, len(err.splitlines())) == (2, 1)
    code, _, err = forecast("x", "--workers", "4", "--over", "dollars")
    assert code == 1
    assert "over: dollars needs a rate" in err
    assert err.rstrip().endswith("or give a rate (--dollars-per-worker-hour)")
    assert forecast("y", "--workers", "4")[0] == 1
