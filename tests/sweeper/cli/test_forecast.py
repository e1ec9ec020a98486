"""`sweeper forecast` on sweeps that ran and on such as have no forecast. Real gangs."""

from __future__ import annotations

import json
import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import parse_spec
from sweeper.store.store import Store
from tests.sweeper.cli.commands import here

SPEC = """
name: small
trial: {model: neuron, data: step-function, images: 3200, points: 10}
space: {workers: [1, 2], batch_size: [16, 32, 64], learning_rate: [0.1]}
objective: {threshold: 10}
"""


def test_a_sweep_of_one_and_two_workers_says_what_four_would_come_to(spec: Path) -> None:
    here("run", str(spec), "--executor", "local", "--json")
    asked = ("forecast", "small", "--workers", "4,2", "--dollars-per-hour", "2", "--top", "3")
    out, err = here(*asked, "--json")
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
    out, _ = here(*asked)
    assert "nothing of this was run" in out
    assert "predicted area" in out
    assert "workers 2: the sweep has run this count" in out
    assert "takes three worker counts" in out


@pytest.fixture
def forecast(run: Any) -> Any:
    """`sweeper forecast` by `run`."""
    return lambda *arguments: run("forecast", *arguments)


def ended(store: Store, written: dict[str, Any], shared: Collection[int] = ()) -> None:
    """A sweep all of whose trials have the same curve by steps; ranks of `shared` worker counts had no cores alone."""
    spec = parse_spec(written)
    sweep = store.sweeps.add(spec, plan(spec))
    for trial in store.trials.of(sweep):
        points = [LossPoint(n, 100 * n, 0.1 * n * trial.workers, 2.0 / n) for n in range(1, 4)]
        attempt = store.attempts.claim(trial.id)
        assert attempt
        store.attempts.add_points(trial.id, attempt, points)
        end = (TrialState.COMPLETED, summarize(points))
        store.attempts.finish(trial.id, attempt, *end, oversubscribed=trial.workers in shared)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"trial": {"exchange": {"average": "weights"}}}, "exchange.average is weights; use gradients"),
        ({"trial": {"model": "resnet-20", "exchange": {"average": "weights"}}}, "exchange.average is weights"),
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
    ended(store, {"name": "x", "space": {"workers": [1, 2]}}, shared=(1, 2))
    assert "of no worker count (oversubscribed ones tell no times)" in forecast("x", "--workers", "4")[2]


@pytest.mark.parametrize("given", ["0", "-4", "4,", "x", "1.5", "1e3", "9999999", "²"])
def test_what_is_no_worker_count_is_refused(forecast: Any, store: Store, given: str) -> None:
    ended(store, {"name": "x", "space": {"workers": [1, 2]}})
    code, _, err = forecast("x", "--workers", given)
    assert code == 2
    assert "is not a worker count; give whole numbers from 1 to" in err


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


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ("resnet-20", "batch statistics change with the batch per worker"),
        ("vgg11", "batch statistics change with the batch per worker"),
        ("googlenet", "batch statistics change with the batch per worker"),
        ("vgg11-plain", "each worker drops out other parts of its layers"),
        ("mine:network", "nobody knows how it learns from shares of a batch"),
    ],
)
def test_models_whose_losses_do_not_follow_have_times_and_costs(
    forecast: Any, store: Store, model: str, why: str
) -> None:
    space = {"workers": [1, 2], "batch_size": [16, 32], "learning_rate": [0.1, 0.2]}
    ended(store, {"name": "x", "trial": {"model": model, "images": 6400}, "space": space})
    code, out, err = forecast("x", "--workers", "4,2", "--dollars-per-hour", "2", "--json")
    answer = json.loads(out)
    assert (code, err, answer["losses_follow"], answer["over"], answer["threshold"]) == (0, "", False, None, None)
    assert answer["note"] == f"Times and costs only: the losses of {model} do not follow ({why})."
    four, two = answer["workers"]
    assert (four["best"], four["measured"], two["measured"], four["settings"]) == ([], False, True, 2)
    for one in four["times"]:
        assert one["parameters"].keys() == {"workers", "batch_size"}
        assert one["seconds_interval"][0] <= one["seconds"] <= one["seconds_interval"][1]
        assert one["steps"] == 6400 / 4 / one["parameters"]["batch_size"]
        assert one["seconds_per_step"] * one["steps"] == pytest.approx(one["seconds"])
        assert one["images_per_second"] == pytest.approx(6400 / one["seconds"])
        assert one["dollars"] == pytest.approx(one["seconds"] * 4 * 2 / 3600)
        assert one["step"] == "predicted"
    assert [(one["step"], one["seconds_per_step"]) for one in two["times"]] == [("measured", pytest.approx(0.2))] * 2
    out = forecast("x", "--workers", "4,2")[1]
    assert answer["note"] in out.splitlines()
    assert "predicted seconds" in out
    assert "predicted area" not in out


def test_trials_whose_workers_share_layers_are_left_out_and_counted(forecast: Any, store: Store) -> None:
    space = {"workers": [2, 4], "batch_size": [16, 32], "parallel.channels": [1, 2]}
    ended(store, {"name": "x", "trial": {"model": "resnet-20", "images": 6400}, "space": space})
    reason = "parallel.channels is 2, and the workers share layers; use 1"
    answer = json.loads(forecast("x", "--workers", "8", "--json")[1])
    assert answer["left_out"] == {reason: 4}
    assert f"4 trials are left out: {reason}." in forecast("x", "--workers", "8")[1].splitlines()
    ended(
        store,
        {"name": "y", "trial": {"model": "resnet-20", "images": 6400}, "space": {**space, "parallel.channels": [2]}},
    )
    assert reason in forecast("y", "--workers", "8")[2]


def test_times_are_said_to_come_from_counts_that_shared_nothing(forecast: Any, store: Store) -> None:
    space = {"workers": [1, 2, 4], "batch_size": [16]}
    ended(store, {"name": "x", "trial": {"model": "resnet-20"}, "space": space}, shared=(4,))
    assert json.loads(forecast("x", "--workers", "8", "--json")[1])["measured_workers"] == [1, 2]
    assert "predicted from 1, 2 workers" in forecast("x", "--workers", "8")[1]


def test_what_goes_with_losses_is_refused_for_models_without(forecast: Any, store: Store) -> None:
    ended(store, {"name": "x", "trial": {"model": "resnet-20"}, "space": {"workers": [1, 2]}})
    for option, value in (("--threshold", "1.5"), ("--over", "images")):
        code, out, err = forecast("x", "--workers", "4", option, value)
        assert (code, out, len(err.splitlines())) == (1, "", 1)
        assert err.startswith(f"error: {option[2:]}: {value} needs losses, and the losses of resnet-20 do not follow (")
        assert err.endswith(f"; leave it out ({option})\n")


def test_a_sweep_of_both_kinds_of_models_has_both(forecast: Any, store: Store) -> None:
    space = {"workers": [1, 2], "batch_size": [16, 32, 64, 128], "model": ["alexnet-cifar", "resnet-20"]}
    ended(store, {"name": "x", "space": space})
    answer = json.loads(forecast("x", "--workers", "4", "--threshold", "2", "--json")[1])
    (four,) = answer["workers"]
    assert answer["losses_follow"] is True
    assert "the losses of resnet-20 do not follow" in answer["note"]
    assert {one["parameters"]["model"] for one in four["best"]} == {"alexnet-cifar"}
    assert {one["parameters"]["model"] for one in four["times"]} == {"resnet-20"}
    out = forecast("x", "--workers", "4")[1]
    assert "predicted area" in out
    assert "predicted seconds" in out


NORMALISED = """
name: normalised
trial: {model: resnet-20, data: digits, images: 256, points: 4}
space: {workers: [1, 2], batch_size: [16, 32]}
"""


def test_steps_of_a_batch_normalised_model_are_those_that_were_measured(spec: Path) -> None:
    spec.write_text(NORMALISED)
    here("run", str(spec), "--executor", "local", "--json")
    answer = json.loads(here("forecast", "normalised", "--workers", "1,2,4", "--json")[0])
    trials = json.loads(here("show", "normalised", "--json")[0])["trials"]
    measured = {
        (one["parameters"]["workers"], one["parameters"]["batch_size"]): one["seconds"] / one["steps"] for one in trials
    }
    one, two, four = answer["workers"]
    found = {
        (of["parameters"]["workers"], of["parameters"]["batch_size"]): of["seconds_per_step"]
        for count in (one, two)
        for of in count["times"]
    }
    assert found == pytest.approx(measured)
    assert all(of["seconds"] > 0 and of["step"] == "predicted" for of in four["times"])
    assert len(four["times"]) == 2
