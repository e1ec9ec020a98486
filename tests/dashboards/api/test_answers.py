"""The API gives the same numbers as the command line for the same question."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from starlette.testclient import TestClient

from dashboards.responses.json_answers import to_json
from sweeper.cli.main import main
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.service import Policy
from sweeper.store import Printed, Store, SweepRecord, TrialRecord
from tests.dashboards.client import client_of
from tests.dashboards.figures.scaling.measuring import trained
from tests.dashboards.sweeps import Result, curve, diverging, evaluated, run, submit

NAME = '实验 #1/日本 "x" <b>'
SPACE = {"batch_size": [16, 32], "learning_rate": [0.1, 0.2], "workers": [1, 2]}
SPEC = {"name": NAME, "trial": {"model": "neuron", "data": "step-function"}, "space": {"learning_rate": [0.1]}}


def result(trial: TrialRecord) -> Result:
    at = trial.parameters
    if at["learning_rate"] == 0.2 and at["batch_size"] == 32:
        return diverging() if at["workers"] == 1 else TrialState.FAILED
    return curve(10.0 / at["workers"] + at["batch_size"], 1.0 + at["learning_rate"])


@pytest.fixture
def sweep(store: Store) -> SweepRecord:
    found = run(store, SPACE, result, name=NAME)
    evaluated(store, store.trials.of(found.id)[0].id, 0.5, 0.75)
    return found


@pytest.fixture
def client(store: Store) -> TestClient:
    return client_of(store)


@pytest.fixture
def told(store: Store, capsys: pytest.CaptureFixture[str]) -> Any:
    """What a command says with --json."""

    def told_(*arguments: str) -> Any:
        with pytest.raises(SystemExit) as ended:
            main([*arguments, "--store", store.name, "--json"])
        assert not ended.value.code
        return json.loads(capsys.readouterr().out)

    return told_


@pytest.mark.parametrize(
    ("options", "query"),
    [
        ((), {}),
        (("--threshold", "1.15"), {"threshold": 1.15}),
        (("--over", "images"), {"over": "images"}),
        (
            ("--over", "dollars", "--dollars-per-worker-hour", "3.5"),
            {"over": "dollars", "dollars_per_worker_hour": 3.5},
        ),
        (("--by", "workers,batch_size"), {"by": ["workers", "batch_size"]}),
        (("--threshold", "0.5"), {"threshold": 0.5}),
        (("--oversubscribed",), {"oversubscribed": True}),
    ],
)
def test_best(
    client: TestClient, sweep: SweepRecord, told: Any, options: tuple[str, ...], query: dict[str, Any]
) -> None:
    answer = client.get(f"/api/v1/sweeps/{sweep.id}/best", params=query)
    assert answer.status_code == 200
    assert answer.json() == told("best", sweep.id, *options)


@pytest.mark.parametrize("order", ["area", "plan", "loss"])
def test_trials(client: TestClient, sweep: SweepRecord, told: Any, order: str) -> None:
    shown = told("show", sweep.id, "--sort", order)
    pages = [
        client.get(f"/api/v1/sweeps/{sweep.id}/trials", params={"order": order, "per_page": 3, "page": page}).json()
        for page in (1, 2, 3)
    ]
    assert [trial for page in pages for trial in page["trials"]] == shown["trials"]
    assert [(page["page"], page["pages"], page["total"]) for page in pages] == [(1, 3, 8), (2, 3, 8), (3, 3, 8)]
    failed = client.get(f"/api/v1/sweeps/{sweep.id}/trials?state=failed").json()
    assert [trial["state"] for trial in failed["trials"]] == ["failed"]


def test_sweeps(client: TestClient, sweep: SweepRecord, told: Any) -> None:
    assert client.get("/api/v1/sweeps").json()["sweeps"] == told("list")["sweeps"]
    for reference in (sweep.id, sweep.id[:5], NAME, "latest"):
        found = client.get("/api/v1/sweeps", params={"reference": reference}).json()["sweeps"]
        assert [one["sweep"] for one in found] == [sweep.id]
    assert client.get("/api/v1/sweeps?page=2").json()["sweeps"] == []


def test_a_sweep_is_submitted_once_for_each_key(client: TestClient, store: Store) -> None:
    first = client.post("/api/v1/sweeps", json={"spec": SPEC}, headers={"Idempotency-Key": "k"})
    assert first.status_code == 201
    again = client.post("/api/v1/sweeps", json={"spec": SPEC, "key": "k"})
    assert again.status_code == 200
    assert first.json() == {**again.json(), "new": True}
    assert client.post("/api/v1/sweeps", json={"spec": SPEC}).json()["sweep"] != first.json()["sweep"]
    shown = client.get(f"/api/v1/sweeps/{first.json()['sweep']}").json()
    assert (shown["name"], shown["state"], shown["submitted"], shown["problem"]) == (NAME, "waiting", True, None)
    assert shown["spec"] == store.sweeps.find(shown["sweep"]).spec.written


def test_code_is_run_only_where_the_server_was_started_so(store: Store) -> None:
    code = {"name": "c", "trial": {"command": ["true", "{x}"]}, "space": {"x": [1]}}
    assert client_of(store).post("/api/v1/sweeps", json={"spec": code}).status_code == 403
    allowing = client_of(store, policy=Policy(allow_code=True))
    assert allowing.post("/api/v1/sweeps", json={"spec": code}).status_code == 201


def test_a_problem_is_shown_until_the_sweep_is_to_be_tried_again(client: TestClient, store: Store) -> None:
    sweep_id = client.post("/api/v1/sweeps", json={"spec": SPEC}).json()["sweep"]
    problem = {"kind": "launch", "message": "no mpiexec", "remedy": "install one"}
    store.submissions.note_problem(sweep_id, problem)
    assert client.get(f"/api/v1/sweeps/{sweep_id}").json()["problem"] == problem
    assert client.post(f"/api/v1/sweeps/{sweep_id}/resume").json()["problem"] is None


def test_stop_cancels_what_waits(client: TestClient, store: Store) -> None:
    sweep_id = client.post("/api/v1/sweeps", json={"spec": SPEC}).json()["sweep"]
    assert client.post(f"/api/v1/sweeps/{sweep_id}/stop").json() == {"sweep": sweep_id, "cancelled": 1, "running": 0}
    assert store.sweeps.find(sweep_id).states == {TrialState.CANCELLED: 1}
    shown = client.get(f"/api/v1/sweeps/{sweep_id}").json()
    assert (shown["stopped"], shown["state"]) == (True, "stopped")


def test_what_ranks_printed(client: TestClient, store: Store, told: Any) -> None:
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: None)
    (trial,) = store.trials.of(sweep.id)
    assert client.get(f"/api/v1/trials/{trial.id}/log").status_code == 404  # it has not begun
    for number, printed in enumerate([Printed("日本\x00\n", 5), None], start=1):
        store.attempts.claim(trial.id)
        store.attempts.release(trial.id, number, "interrupted", printed=printed)
    shown = client.get(f"/api/v1/trials/{trial.id}/log?attempt=1").json()
    assert (shown["text"], shown["omitted"]) == ("日本\ufffd\n", 5)
    assert shown == told("log", trial.id, "--attempt", "1")
    assert client.get(f"/api/v1/trials/{trial.id}/log").json()["text"] == ""
    assert client.get(f"/api/v1/trials/{trial.id}/log?attempt=3").status_code == 404
    assert "日本" in client.get(f"/trials/{trial.id}").text


def test_a_trial_and_its_curve_with_losses_that_are_no_numbers(client: TestClient, store: Store) -> None:
    losses = [2.0, math.inf, -math.inf, math.nan]
    sweep = run(store, {"learning_rate": [0.1]}, lambda _: [LossPoint(i, i, i / 2, x) for i, x in enumerate(losses, 1)])
    (trial,) = store.trials.of(sweep.id)
    shown = client.get(f"/api/v1/trials/{trial.id}").json()
    assert (shown["state"], shown["sweep"], shown["config"]["model"]) == ("diverged", sweep.id, "neuron")
    assert [attempt["state"] for attempt in shown["attempts"]] == ["diverged"]
    drawn = client.get(f"/api/v1/trials/{trial.id}/curve").json()
    assert drawn["points"] == [[1, 1, 0.5, 2.0], [2, 2, 1.0, None], [3, 3, 1.5, None], [4, 4, 2.0, None]]
    assert drawn["not_finite"] == {"2": "inf", "3": "-inf", "4": "nan"}
    assert client.get(f"/api/v1/trials/{trial.id}/curve?attempt=2").json()["points"] == []
    assert client.get("/api/v1/trials/none").status_code == 404


def test_what_json_cannot_hold_is_written_all_the_same() -> None:
    written = to_json({"huge": 2**80, "half": "\ud800", "nan": math.nan, "inf": [math.inf]})
    assert json.loads(written) == {"huge": 2**80, "half": "\ud800", "nan": None, "inf": [None]}


def test_health_and_metrics(client: TestClient, sweep: SweepRecord, store: Store) -> None:
    assert client.get("/healthz").json() == {"status": "ok", "store": "ok", "runner": "none"}
    text = client.get("/metrics").text
    assert 'sweeper_trials{state="diverged"} 1.0' in text
    assert 'sweeper_sweeps{state="completed with failures"} 1.0' in text
    assert store.sweeps.find(sweep.id).state == "completed with failures"


def test_phases_are_told_in_all_and_by_step(client: TestClient, store: Store) -> None:
    sweep = store.sweeps.find(submit(store, {"learning_rate": [0.1]}))
    (trial,) = store.trials.of(sweep.id)
    for outcome in (TrialState.FAILED, TrialState.COMPLETED):
        attempt = store.attempts.claim(trial.id)
        assert attempt is not None
        points = curve(2.0, 1.0, 4)
        store.attempts.add_points(trial.id, attempt, points)
        store.attempts.finish(trial.id, attempt, outcome, summarize(points), phases={"compute": 2.0, "update": 1.0})
        if outcome is TrialState.FAILED:
            store.sweeps.try_failed_again(sweep.id)
    first, second = client.get(f"/api/v1/trials/{trial.id}").json()["attempts"]
    assert first["phases"] == second["phases"] == {"compute": 2.0, "update": 1.0}
    assert second["phases_per_step"] == {"compute": 0.5, "update": 0.25}
    assert first["phases_per_step"] == {}, "steps are kept of the latest attempt alone"
    assert "2.0 s, 500.00 ms a step" in client.get(f"/trials/{trial.id}").text


@pytest.mark.parametrize("model", ["alexnet-cifar", "resnet-20"])
def test_a_forecast_is_the_same(client: TestClient, store: Store, told: Any, model: str) -> None:
    trained(store, {"batch_size": [32, 64], "workers": [1, 2, 4]}, name="x", trial={"model": model})
    answer = client.get("/api/v1/sweeps/x/forecast?workers=8&workers=2&dollars_per_worker_hour=2&top=1")
    asked = ("forecast", "x", "--workers", "8,2", "--dollars-per-worker-hour", "2", "--top", "1")
    assert answer.json() == told(*asked)
    assert (answer.json()["note"] is None) == (model == "alexnet-cifar")


def test_a_forecast_that_cannot_be_is_a_clear_error(client: TestClient, store: Store) -> None:
    trained(store, {"workers": [1, 2]}, name="x", trial={"model": "resnet-20"})
    for query, words in (
        ("workers=4&threshold=1", "threshold: 1.0 needs losses"),
        ("workers=0", "greater than or equal to 1"),
        ("top=1", "workers"),
    ):
        answer = client.get(f"/api/v1/sweeps/x/forecast?{query}")
        assert answer.status_code in (400, 422)
        assert words in answer.json()["error"]["message"]
