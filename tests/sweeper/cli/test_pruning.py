"""A live sweep with and without pruning: the same winners."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.processes import eventually
from tests.sweeper.cli.commands import ONE_GANG, here, others, rows

SPEC = """
name: pruned
trial: {model: neuron, data: step-function, images: 60000, batch_size: 16, points: 40}
space:
  learning_rate: [0.0001, 0.1, 0.00001, 0.01]
  workers: [1]
objective: {over: images}
prune: area
"""
RUN = ("--executor", "local", "--json", *ONE_GANG)  # so that one trial follows the other


def test_the_winner_is_that_of_the_whole_grid(spec: Path, tmp_path: Path) -> None:
    answers = []
    for prune in ("area", "none"):
        out, _ = here("run", str(spec), *RUN, "--set", f"prune={prune}")
        answers.append([group["winner"]["parameters"] for group in json.loads(out)["groups"]])
    assert answers[0] == answers[1]
    ((pruned,),) = rows(tmp_path, "SELECT count(*) FROM trial WHERE state = 'pruned'")
    assert pruned >= 1
    ((reason, least),) = rows(tmp_path, "SELECT reason, min(points) FROM trial WHERE state = 'pruned'")
    assert "its area will be " in reason
    assert 2 <= least < 40
    ended = rows(tmp_path, "SELECT count(*) FROM attempt WHERE state = 'pruned'")
    assert ended == [(pruned,)]
    assert eventually(lambda: not others(tmp_path))


@pytest.mark.long
def test_a_median_pruner_stops_trials_and_says_that_they_might_have_won(spec: Path, tmp_path: Path) -> None:
    rates = "[0.1, 0.11, 0.12, 0.13, 0.14, 0.0001, 0.0002]"
    spec.write_text(SPEC.replace("[0.0001, 0.1, 0.00001, 0.01]", rates))
    out, err = here("run", str(spec), *RUN, "--set", "prune=median")
    ((pruned,),) = rows(tmp_path, "SELECT count(*) FROM trial WHERE state = 'pruned'")
    assert pruned >= 1
    assert "by the pruner median" in err
    ((group),) = json.loads(out)["groups"]
    assert group["winner"]["parameters"]["learning_rate"] >= 0.1
    assert len(group["in_doubt"]) <= pruned
