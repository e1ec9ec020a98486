"""`sweeper best --spec`: the winners as a spec that can be run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import parse_spec
from sweeper.spec.file import load_spec
from sweeper.store.store import Store

SPEC: dict[str, Any] = {
    "name": "small",
    "trial": {"momentum": 0.9, "images": 2560},
    "space": {"batch_size": [64, 128], "learning_rate": [0.001, 0.5], "workers": [1, 2]},
    "objective": {"threshold": 1.8},
    "prune": "area",
}


def finished(store: Store, spec: dict[str, Any], best: dict[int, int]) -> str:
    """A sweep in which the trials in these places win their worker counts; of others nobody qualifies."""
    parsed = parse_spec(spec)
    sweep_id = store.sweeps.add(parsed, plan(parsed))
    for place, trial in enumerate(store.trials.of(sweep_id)):
        loss = 1.0 if best.get(trial.workers) == place else 1.9
        points = [LossPoint(1, 64, 0.5, 2.0), LossPoint(2, 128, 1.0, loss)]
        attempt = store.attempts.claim(trial.id)
        assert attempt is not None
        store.attempts.add_points(trial.id, attempt, points)
        store.attempts.finish(trial.id, attempt, TrialState.COMPLETED, summarize(points))
    return sweep_id


def test_the_winners_are_settings_of_a_spec_that_is_planned_as_they_were(
    run: Any, store: Store, tmp_path: Path
) -> None:
    sweep = finished(store, SPEC, {1: 1, 2: 6})
    code, out, _ = run("best", sweep, "--spec")
    assert code == 0
    (tmp_path / "winners.yaml").write_text(out)
    spec = load_spec(tmp_path / "winners.yaml")
    assert (spec.name, spec.search.method, spec.prune.method) == ("small-winners", "grid", "none")
    trials = store.trials.of(sweep)
    assert [trial.parameters for trial in plan(spec)] == [trials[1].parameters, trials[6].parameters]
    assert [f"{sweep}-{trial.key}" for trial in plan(spec)] == [trials[1].id, trials[6].id]
    assert json.loads(run("best", sweep, "--spec", "--json")[1])["space"] == {
        "points": [trials[1].parameters, trials[6].parameters]
    }


def test_the_winner_of_a_group_alone(run: Any, store: Store) -> None:
    sweep = finished(store, SPEC, {1: 1, 2: 6})
    settings = json.loads(run("best", sweep, "--spec", "--group", "workers=2", "--json")[1])["space"]["points"]
    assert settings == [store.trials.of(sweep)[6].parameters]
    both = ("--group", "workers=2", "--group", "workers=1", "--group", "workers=2")
    assert len(json.loads(run("best", sweep, "--spec", *both, "--json")[1])["space"]["points"]) == 2
    by = ("--by", "workers,learning_rate", "--group", "learning_rate=0.5")
    code, _, err = run("best", sweep, "--spec", *by)
    assert (code, "--group learning_rate=0.5: fits 2 of the groups" in err) == (1, True)
    for wrong, problem in (
        ("workers=3", "fits none of the groups; they are workers=1; workers=2"),
        ("2", "is no group"),
    ):
        code, _, err = run("best", sweep, "--spec", "--group", wrong)
        assert (code, problem in err) == (1, True)
    assert run("best", sweep, "--group", "workers=2")[0] == 2


def test_a_group_is_named_by_each_parameter_once(run: Any, store: Store) -> None:
    sweep = finished(store, SPEC, {1: 1, 2: 6})
    code, _, err = run("best", sweep, "--spec", "--group", "workers=1,workers=2")
    assert (code, "names a parameter twice; give --group once for each group" in err) == (1, True)


def test_a_group_without_a_winner_is_left_out_and_said_so(run: Any, store: Store) -> None:
    sweep = finished(store, SPEC, {2: 6})
    code, out, err = run("best", sweep, "--spec")
    assert code == 0
    assert out.count("workers: 2") == 1
    assert "workers: 1" not in out
    assert "workers 1: none qualified" in err


def test_repeats_stay_and_seeds_are_not_listed(run: Any, store: Store) -> None:
    sweep = finished(store, {**SPEC, "repeats": 2, "space": {"learning_rate": [0.1, 0.2]}}, {})
    answer = json.loads(run("best", sweep, "--spec", "--json", "--threshold", "2")[1])
    assert answer["repeats"] == 2
    assert [sorted(setting) for setting in answer["space"]["points"]] == [["learning_rate", "workers"]]


def test_nobody_who_won_and_an_import_are_refused(run: Any, store: Store) -> None:
    sweep = finished(store, SPEC, {})
    code, _, err = run("best", sweep, "--spec")
    assert (code, err.count("\n")) == (1, 1)
    assert "qualifies; give a --threshold above 1.8, or run others" in err
    points = [LossPoint(1, 64, 0.5, 1.0)]
    imported = store.sweeps.add_import("logs", [({"workers": 1}, "a.log", points, summarize(points))])
    code, _, err = run("best", imported, "--spec")
    assert code == 1
    assert "is an import and has no spec" in err
