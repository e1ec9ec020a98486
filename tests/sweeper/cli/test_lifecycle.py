"""A sweep's life after its submission: gone on with, shared, extended, tried again, stopped, deleted. Real gangs."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.processes import eventually
from tests.sweeper.cli.commands import ENDLESS, ONE_GANG, begin, here, others, rows
from tests.sweeper.cli.commands import number as number_of

SPEC = """
name: small
trial: {model: neuron, data: step-function, images: 16000, batch_size: 16, points: 20}
space:
  learning_rate: [0.1, 0.2, 0.3, 0.4]
  workers: [1, 2]
retries: 0
"""
SHORT = ["--executor", "local", "--set", "trial.images=640", "--set", "space.workers=[1]", *ONE_GANG]
OWN = """
from pathlib import Path
from torch import nn

class Network(nn.Module):
    def __init__(self, shape, classes):
        super().__init__()
        self.linear = nn.Linear(shape[0], classes)

    def forward(self, numbers):
        if Path(__file__).with_name("broken").exists():
            raise ValueError("not today")
        return self.linear(numbers)
"""


def reaches(tmp_path: Path, query: str) -> Callable[[], bool]:
    """Whether the store is there and the query's only number above 0."""

    return lambda: bool(number_of(tmp_path, query))


def nothing_is_left(tmp_path: Path) -> bool:
    return eventually(lambda: not others(tmp_path))


def ends(tmp_path: Path) -> list[tuple[Any, ...]]:
    return rows(tmp_path, "SELECT state, attempt FROM trial ORDER BY position")


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_resume_runs_what_is_left_and_nothing_twice(number: signal.Signals, spec: Path, tmp_path: Path) -> None:
    process = begin("run", str(spec), "--executor", "local")
    assert eventually(reaches(tmp_path, "SELECT count(*) > 1 FROM trial WHERE state = 'completed'"), 120)
    os.kill(process.pid, number)
    process.communicate(timeout=60)
    assert nothing_is_left(tmp_path)
    before = ends(tmp_path)
    done = [i for i, (state, _) in enumerate(before) if state == "completed"]
    assert 2 <= len(done) < 8
    if number == signal.SIGKILL:
        assert ("running", 1) in before
    _, err = here("run", str(spec), "--executor", "local", code=1)
    assert "has this spec, and" in err
    assert "go on with it" in err or "goes on with it" in err
    here("resume", "small", "--executor", "local")
    after = ends(tmp_path)
    assert [state for state, _ in after] == ["completed"] * 8
    assert all(after[i] == ("completed", 1) for i in done)
    assert rows(tmp_path, "SELECT count(*) FROM attempt WHERE state = 'running'") == [(0,)]
    assert rows(tmp_path, "SELECT count(*), count(DISTINCT trial_id) FROM attempt WHERE state = 'completed'") == [
        (8, 8)
    ]
    assert nothing_is_left(tmp_path)


def test_two_schedulers_share_a_sweep_and_run_each_trial_once(spec: Path, tmp_path: Path) -> None:
    first = begin("run", str(spec), "--executor", "local")
    assert eventually(reaches(tmp_path, "SELECT count(*) FROM trial WHERE state = 'running'"), 60)
    second = begin("resume", "latest", "--executor", "local", "--json")
    for process in (first, second):
        out, err = process.communicate(timeout=200)
        assert process.returncode == 0, err
    assert [group["qualified"] for group in json.loads(out)["groups"]] == [4, 4]
    assert ends(tmp_path) == [("completed", 1)] * 8
    ((schedulers,),) = rows(tmp_path, "SELECT count(DISTINCT scheduler_id) FROM trial")
    assert schedulers == 2
    assert rows(tmp_path, "SELECT count(*) FROM scheduler") == [(0,)]


def test_the_same_spec_again_is_another_sweep_only_when_asked_for(spec: Path, tmp_path: Path) -> None:
    here("run", str(spec), *SHORT)
    _, err = here("run", str(spec), *SHORT, "--json", code=1)
    error = json.loads(err)["error"]
    assert error["kind"] == "repeated"
    assert "4 of its 4 trials have ended" in error["message"]
    here("run", str(spec), *SHORT, "--resume")  # which has nothing left to run
    assert number_of(tmp_path, "SELECT count(*) FROM sweep") == 1
    here("run", str(spec), *SHORT, "--again")
    assert rows(tmp_path, "SELECT count(*) FROM sweep") == [(2,)]
    assert rows(tmp_path, "SELECT count(*) FROM trial") == [(8,)]


def test_extend_adds_only_new_cells(spec: Path, tmp_path: Path) -> None:
    here("run", str(spec), *SHORT, "--set", "space.learning_rate=[0.1, 0.2]")
    _, err = here("extend", "small", str(spec), *SHORT)
    assert "2 new trials, 2 that it has already" in err
    assert ends(tmp_path) == [("completed", 1)] * 4
    rates = [
        json.loads(p)["learning_rate"] for (p,) in rows(tmp_path, "SELECT parameters FROM trial ORDER BY position")
    ]
    assert rates == [0.1, 0.2, 0.3, 0.4]
    _, err = here("extend", "small", str(spec), *SHORT)
    assert "0 new trials, 4 that it has already" in err
    assert rows(tmp_path, "SELECT count(*) FROM attempt") == [(4,)]
    _, err = here("extend", "no such", str(spec), *SHORT, code=1)
    assert "no such sweep" in err


CLOSE = """
name: close
trial: {model: mlp, data: digits, images: 1000, batch_size: 32, points: 20, device: cpu}
space:
  learning_rate: [0.1, 0.13, 0.16, 0.2, 0.23, 0.26, 0.3]
  workers: [1]
objective: {over: images}
"""


def test_extend_trains_more_seeds_of_what_cannot_be_ruled_out(spec: Path, tmp_path: Path) -> None:
    spec.write_text(CLOSE)
    here("run", str(spec), "--executor", "local")
    asked = ["close", "--threshold", "0.45"]
    words = here("best", *asked)[0]
    found = re.search(r"alone \((\d+) trials\): `sweeper (extend \w+ --seeds \d+ --threshold 0.45)`", words)
    assert found, words
    (before,) = json.loads(here("best", *asked, "--json")[0])["groups"]
    chosen = {one["parameters"]["learning_rate"] for one in before["recommended"]["not_ruled_out"]}
    out, err = here(*found[2].split(), "--executor", "local", "--json")
    assert f"{found[1]} new trials, further seeds of settings that cannot be ruled out" in err
    states = rows(tmp_path, "SELECT state, json_extract(parameters, '$.learning_rate') FROM trial ORDER BY position")
    assert len(states) == 7 + int(found[1])
    assert {state for state, _ in states} == {"completed"}
    assert {rate for _, rate in states[7:]} == chosen
    answer = json.loads(out)
    (after,) = answer["groups"]
    assert (answer["threshold"], after["settings"], after["trials"]) == (0.45, 7, len(states))
    _, err = here("extend", "close", "--seeds", "2", "--set", "repeats=2", code=2)
    assert "omit SPEC and --set, or omit --seeds" in err
    _, err = here("extend", "close", "--threshold", "2", code=2)
    assert "go with --seeds only" in err


def test_rerun_tries_exactly_what_failed(spec: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    model = ["--set", "trial.model=mine:Network"]
    here("run", str(spec), *SHORT, *model, "--set", "space.learning_rate=[0.1]")
    (tmp_path / "broken").touch()
    out, err = here("extend", "small", str(spec), *SHORT, *model, code=1)
    assert out.splitlines()[-1].endswith(": completed with failures")
    assert "3 of 4 trials failed; `sweeper show " in err
    assert ends(tmp_path) == [("completed", 1), *[("failed", 1)] * 3]
    (tmp_path / "broken").unlink()
    _, err = here("rerun", "small", "--executor", "local", code=2)
    assert "say which trials: one or more of --failed, --oversubscribed" in err
    assert here("rerun", "--failed", "small", "--executor", "local")[0].splitlines()[-1].endswith(": completed")
    assert ends(tmp_path) == [("completed", 1), *[("completed", 2)] * 3]
    tracebacks = rows(tmp_path, "SELECT traceback FROM attempt WHERE state = 'failed'")
    assert len(tracebacks) == 3
    assert all("ValueError: not today" in traceback for (traceback,) in tracebacks)
    _, err = here("rerun", "--failed", "small", "--executor", "local", code=1)
    assert "none of its trials has failed" in err


def test_stop_and_delete_while_it_runs(spec: Path, tmp_path: Path) -> None:
    running = begin("run", str(spec), "--executor", "local", *ENDLESS)
    assert eventually(reaches(tmp_path, "SELECT count(*) FROM loss_point"), 90)
    out, _ = here("stop", "small")
    assert re.search(r": stopped; \d+ waiting trials? cancelled, [12] running trials? ended, 0 still running\n$", out)
    assert rows(tmp_path, "SELECT stop_asked_at IS NOT NULL FROM sweep") == [(1,)]
    _, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    assert {state for state, _ in ends(tmp_path)} == {"cancelled"}
    assert rows(tmp_path, "SELECT count(*) > 0 FROM loss_point") == [(1,)]

    running = begin("run", str(spec), "--executor", "local", "--again", *ENDLESS)
    assert eventually(reaches(tmp_path, "SELECT count(*) FROM trial WHERE state = 'running'"), 90)
    assert here("delete", "latest", "--yes")[0].endswith(": deleted\n")
    running.communicate(timeout=60)
    assert rows(tmp_path, "SELECT count(*) FROM sweep") == [(1,)]
    assert nothing_is_left(tmp_path)
