"""A real race: seeds of real trainings, until the winner is told apart."""

from __future__ import annotations

import json
from pathlib import Path

from tests.processes import eventually
from tests.sweeper.cli.commands import here, others, rows

SPEC = """
name: race
trial: {model: mlp, data: digits, images: 4000, batch_size: 32, points: 20, device: cpu}
space:
  learning_rate: [0.001, 0.1, 0.05]
  workers: [1]
objective: {over: images}
repeats: {method: auto, at_least: 2, at_most: 6}
prune: area
"""


def test_a_race_of_real_trainings_ends_with_a_winner_and_goes_on_from_the_store(spec: Path, tmp_path: Path) -> None:
    spec.write_text(SPEC)
    out, err = here("run", str(spec), "--executor", "local", "--json")
    (group,) = json.loads(out)["groups"]
    winner = group["winner"]
    assert winner["parameters"]["learning_rate"] == 0.1
    assert winner["repeats"] >= 2
    assert winner["area_interval"][0] < winner["area"] < winner["area_interval"][1]
    assert "repeats: 2 seeds of each of 3 settings" in err
    # On a busy machine both seeds of the worse rate may be pruned: then there is nobody to be told apart from.
    sure = group["recommended"] and group["recommended"]["probability"] >= 0.95
    decided = sure or group["separated"] or group["qualified_settings"] == 1
    assert decided or winner["repeats"] == 6
    counts = dict(rows(tmp_path, "SELECT json_extract(parameters, '$.learning_rate'), count(*) FROM trial GROUP BY 1"))
    assert counts[0.001] < counts[0.1] or decided
    out, err = here("resume", "race", "--executor", "local", "--json")
    assert json.loads(out)["groups"] == [group]
    assert eventually(lambda: not others(tmp_path))
