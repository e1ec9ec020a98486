"""Searches as people run them: as many trials as asked for, also after an interrupt and by two at once."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.processes import eventually
from tests.sweeper.cli.commands import CORES, begin, here, number, others, rows

SPEC = f"""
name: searched
trial: {{model: neuron, data: step-function, images: 4000, points: 20}}
space:
  learning_rate: {{low: 0.001, high: 0.9, log: true}}
  batch_size: [8, 16, 32]
  workers: [1]
objective: {{over: images, threshold: 0.2}}
search: tpe
trials: 6
resources: {{cpus_per_worker: {CORES}}}
"""
RUN = ("--executor", "local", "--json")
ENDED = "SELECT count(*) FROM trial WHERE state = 'completed'"


def test_a_search_runs_as_many_trials_as_asked_for_and_shows_them(spec: Path, tmp_path: Path) -> None:
    out, err = here("run", str(spec), *RUN)
    ((group),) = json.loads(out)["groups"]
    assert group["trials"] == 6
    assert group["winner"] is not None
    assert "sweep" in err
    assert "[6/6]" in err
    assert number(tmp_path, ENDED) == 6
    assert number(tmp_path, "SELECT count(*) FROM gang") == 1  # stays for the next point
    positions = [position for (position,) in rows(tmp_path, "SELECT position FROM trial ORDER BY position")]
    assert positions == list(range(6))
    again = begin("run", str(spec), *RUN)
    assert "6 of its 6 trials have ended" in again.communicate(timeout=60)[1]


@pytest.mark.long
def test_what_was_interrupted_goes_on_to_its_number_and_two_do_not_exceed_it(spec: Path, tmp_path: Path) -> None:
    process = begin("run", str(spec), *RUN)
    assert eventually(lambda: number(tmp_path, ENDED) >= 2, timeout_s=120)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    listed = json.loads(here("list", "--json")[0])["sweeps"][0]
    assert (listed["state"], listed["trials"]) == ("interrupted", 6)
    both = [begin("resume", "latest", *RUN) for _ in range(2)]
    assert [process.wait(timeout=200) for process in both] == [0, 0]
    assert number(tmp_path, ENDED) == number(tmp_path, "SELECT count(*) FROM trial") == 6
    assert eventually(lambda: not others(tmp_path))


def test_a_search_whose_worker_counts_cannot_be_seated_is_refused_before_anything_runs(
    spec: Path, tmp_path: Path
) -> None:
    spec.write_text(SPEC.replace("workers: [1]", "workers: [1, 100]"))
    _, err = (process := begin("run", str(spec), *RUN)).communicate(timeout=60)
    assert process.returncode == 1
    assert "space.workers: 100 cannot be seated" in err
    assert number(tmp_path, "SELECT count(*) FROM sweep") == 0


def test_extend_goes_on_with_a_search_in_a_wider_space(spec: Path, tmp_path: Path) -> None:
    def extend(*words: str) -> tuple[int, str]:
        process = begin("extend", "latest", *words, *RUN)
        _, err = process.communicate(timeout=280)
        return process.returncode, err

    assert begin("run", str(spec), *RUN, "--set", "search.trials=4").wait(timeout=280) == 0
    first = rows(tmp_path, "SELECT id, area_images FROM trial ORDER BY position")
    code, err = extend("--set", "trials=6", "--set", "space.batch_size=[64, 128]")
    assert (code, "the search goes on from 4 to 6 trials" in err) == (0, True), err
    assert rows(tmp_path, "SELECT id, area_images FROM trial ORDER BY position")[:4] == first
    added = rows(tmp_path, "SELECT parameters FROM trial WHERE position >= 4")
    assert {json.loads(parameters)["batch_size"] for (parameters,) in added} <= {64, 128}
    assert number(tmp_path, ENDED) == 6
    code, err = extend(str(spec), "--set", "search.trials=6")
    assert (code, "adds nothing, for sweep" in err, "has 6 trials; give more" in err) == (1, True, True)
    code, err = extend(str(spec), "--set", "trials=9", "--set", "trial.images=2000")
    assert (code, "compares trials of the same settings" in err) == (1, True)
    listed = json.loads(here("list", "--json")[0])["sweeps"][0]
    assert (listed["state"], listed["trials"]) == ("completed", 6)
