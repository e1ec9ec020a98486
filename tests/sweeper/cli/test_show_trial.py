"""`sweeper show TRIAL`: all that is recorded of one trial, found by its id or the beginning of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from sweeper.errors import NotFoundError
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import summarize
from sweeper.spec import parse_spec
from sweeper.store import EvaluationRecord, GangRecord, Store
from tests.dashboards.sweeps import curve

SPEC = {"name": "one", "space": {"learning_rate": [0.1, 0.2], "workers": [2]}, "objective": {"threshold": 1.8}}
CURVE = curve(4.0, 1.5)


@pytest.fixture
def trials(store: Store) -> list[str]:
    """Two trials, of which the first failed once, then ended on a gang of two hosts."""
    spec = parse_spec(SPEC)
    sweep = store.sweeps.add(spec, plan(spec))
    first, second = (trial.id for trial in store.trials.of(sweep))
    assert store.attempts.claim(first) == 1
    store.attempts.release(first, 1, "rank 1 died", outcome="failed")
    assert store.attempts.claim(first) == 2
    gang = GangRecord("g", sweep, 2, ["left", "right"], [1, 2], {"torch": "2.13.0"}, datetime(2026, 1, 2, tzinfo=UTC))
    store.attempts.assign_gang(first, 2, gang, "gang.log")
    effective = {"device": "cpu", "device_name": "a processor", "precision": "float32"}
    store.attempts.start(first, 2, 1.5, 0.5, effective)
    store.attempts.add_points(first, 2, CURVE)
    store.attempts.add_evaluation(first, 2, EvaluationRecord(5, 320, 2.0, 1.6, 0.5))
    phases = {"compute": 3.0, "report": 0.25}
    store.attempts.finish(first, 2, TrialState.COMPLETED, summarize(CURVE), phases=phases)
    return [first, second]


def test_json_has_all_that_is_recorded(run: Any, trials: list[str]) -> None:
    code, out, _ = run("show", trials[0], "--json")
    answer = json.loads(out)
    assert code == 0
    assert (answer["trial"], answer["name"], answer["state"]) == (trials[0], "one", "completed")
    assert answer["areas"]["seconds"] == answer["area"] == summarize(CURVE).area_seconds
    assert [point["loss"] for point in answer["curve"]] == [point.loss for point in CURVE]
    failed, ended = answer["attempts"]
    assert (failed["state"], failed["reason"], failed["hosts"]) == ("failed", "rank 1 died", [])
    assert (ended["hosts"], ended["versions"]) == (["left", "right"], {"torch": "2.13.0"})
    assert (ended["startup_seconds"], ended["setup_seconds"]) == (1.5, 0.5)
    assert ended["phases"] == {"compute": 3.0, "report": 0.25}
    assert ended["per_step"]["compute"] == 3.0 / CURVE[-1].step
    assert answer["evaluations"][0]["accuracy"] == 0.5
    assert answer["config"]["learning_rate"] == 0.1


def test_people_see_result_attempts_phases_and_settings(run: Any, trials: list[str]) -> None:
    code, out, _ = run("show", trials[0])
    assert code == 0
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0].startswith(f"trial {trials[0]} of one (")
    assert lines[0].endswith("): completed")
    assert lines[1] == "workers=2 batch_size=128 learning_rate=0.1"
    assert any(line.startswith("2 completed") and line.endswith("left, right a processor") for line in lines)
    assert "attempt 1: rank 1 died" in lines
    assert any(line.startswith("compute 3.0000") for line in lines)
    assert "precision tf32 float32" in lines, "what took effect stands beside what was asked for"
    assert any(line.startswith("5 320 2.0000 1.6000 0.50000") for line in lines)


def test_a_trial_that_has_not_begun_has_its_settings(run: Any, trials: list[str]) -> None:
    code, out, _ = run("show", trials[1])
    assert code == 0
    assert f"trial {trials[1]} of one" in out
    assert "): pending" in out
    assert "area over" not in out
    assert "alexnet-cifar" in out


def test_a_beginning_that_fits_one_trial_is_enough(run: Any, trials: list[str]) -> None:
    sweep, _, rest = trials[0].partition("-")
    assert json.loads(run("show", f"{sweep}-{rest[:6]}", "--json")[1])["trial"] == trials[0]
    assert run("log", f"{sweep}-{rest[:6]}")[0] == 0
    code, _, err = run("show", f"{sweep}-{rest}0")
    assert (code, "no such trial" in err) == (1, True)


def test_a_beginning_that_fits_several_trials_names_them(store: Store, trials: list[str]) -> None:
    sweep = trials[0].partition("-")[0]
    with pytest.raises(NotFoundError, match="fits several") as raised:
        store.trials.resolve(f"{sweep}-")
    assert all(trial in str(raised.value) for trial in trials)
    assert store.trials.resolve(trials[1]).id == trials[1]


def test_a_sweep_that_is_named_like_a_trial_is_found_by_its_name(run: Any, store: Store) -> None:
    spec = parse_spec({**SPEC, "name": "20261201-1"})
    sweep = store.sweeps.add(spec, plan(spec))
    code, out, _ = run("show", "20261201-1", "--json")
    assert (code, json.loads(out)["sweep"]) == (0, sweep)


def test_ids_are_shown_where_they_are_asked_for(run: Any, trials: list[str]) -> None:
    sweep = trials[0].partition("-")[0]
    assert trials[0] not in run("show", sweep)[1]
    assert all(trial in run("show", sweep, "--ids")[1] for trial in trials)
