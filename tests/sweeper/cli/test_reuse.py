"""Shared curves with real ranks: derived trials are what training would have given, and are told apart."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec.file import load_spec
from sweeper.store import open_store
from tests.sweeper.cli.commands import begin, rows

SPEC = """
name: shared
trial: {model: mlp, data: digits, images: 25600, points: 100}
space:
  batch_size: [32, 64]
  learning_rate: [0.05, 0.1]
  workers: [1, 2]
reuse: equivalent
"""


def sweeper(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "sweeper.cli", *arguments], capture_output=True, text=True)


def run(*arguments: str) -> dict[str, Any]:
    process = begin(*arguments, "--executor", "local", "--json", "--oversubscribe")
    out, err = process.communicate(timeout=280)
    assert process.returncode == 0, err
    answer = json.loads(out)
    assert isinstance(answer, dict)
    return answer


@pytest.mark.timeout(600)
@pytest.mark.long
def test_equal_global_batches_are_trained_once_and_a_check_finds_the_same_losses(spec: Path, tmp_path: Path) -> None:
    spec.write_text(SPEC)
    answer = run("run", str(spec))
    trials = json.loads(sweeper("show", "latest", "--json").stdout)["trials"]
    assert {trial["state"] for trial in trials} == {"completed"}
    derived = [trial for trial in trials if trial["derived_from"]]
    assert {(trial["parameters"]["workers"] * trial["parameters"]["batch_size"]) for trial in derived} == {64}
    assert len(derived) == 2
    by_id = {trial["trial"]: trial for trial in trials}
    for trial in derived:
        source = by_id[trial["derived_from"]]
        assert source["derived_from"] is None
        assert (trial["minimum_loss"], trial["steps"]) == (source["minimum_loss"], source["steps"])
        assert trial["seconds"] != source["seconds"]
    timed = rows(tmp_path, "SELECT state, count(*) FROM attempt GROUP BY state ORDER BY state")
    assert dict(timed)["completed"] == 8
    assert dict(timed).get("timed", 0) >= 2
    for group in answer["groups"]:
        assert group["winner"]["derived_from"] == by_id[group["winner"]["trial"]]["derived_from"]
    assert ", derived" in sweeper("show", "latest").stdout

    checked = run("check", answer["sweep"], "--sample", "2")
    assert len(checked["trials"]) == 2
    assert checked["check"] != answer["sweep"]
    assert {trial["state"] for trial in checked["trials"]} == {"completed"}
    assert checked["largest_loss_difference"] < 0.02  # other shapes of matrices round otherwise; 0.010 was seen
    assert all(trial["area_difference"] is not None for trial in checked["trials"])

    may_be_best = [trial for group in answer["groups"] for trial in group["derived_candidates"]]
    if may_be_best:
        again = run("rerun", answer["sweep"], "--derived")
        assert again["trained_again"]["trials"] == len(may_be_best)
        assert again["trained_again"]["largest_difference"]["images"] < 0.02


def test_a_check_of_a_sweep_without_derived_trials_says_so(spec: Path, tmp_path: Path) -> None:
    spec.write_text(SPEC)
    parsed = load_spec(spec)
    with closing(open_store(f"sqlite:///{tmp_path / 'sweeper.db'}")) as store:
        sweep = store.sweeps.add(parsed, plan(parsed))
        points = [LossPoint(1, 64, 0.5, 2.0), LossPoint(2, 128, 1.0, 1.0)]
        for trial in store.trials.of(sweep):
            attempt = store.attempts.claim(trial.id)
            assert attempt is not None
            store.attempts.add_points(trial.id, attempt, points)
            store.attempts.finish(trial.id, attempt, TrialState.COMPLETED, summarize(points))
    done = sweeper("check", "latest")
    assert done.returncode == 1
    assert done.stderr.startswith("error: sweep ")
    assert done.stderr.strip().endswith("none of its trials is derived; reuse: equivalent derives some")
