"""`sweeper log`: what ranks have printed is in the store, whoever asks and wherever."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

from sweeper.answers.printed import printed_answer
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import summarize
from sweeper.spec import parse_spec
from sweeper.store import Printed, Store, read_store
from tests.sweeper.cli.commands import begin, here, rows
from tests.sweeper.cli.test_reading_commands import SPEC as SMALL

SPEC = """
name: talking
trial: {model: "talking:network", data: step-function, images: 64, points: 1}
space: {batch_size: [8, 16, 32], workers: [2]}
objective: {over: images}
"""
NETWORK = """
import os, sys
from torch import nn

class Talking(nn.Linear):
    def forward(self, inputs):
        rank = os.environ.get("PMI_RANK") or os.environ.get("OMPI_COMM_WORLD_RANK")
        if len(inputs) == 32 and os.path.exists("fail"):
            raise ValueError("no luck")
        print(f"rank {rank}: {len(inputs)} samples", file=sys.stdout if rank == "0" else sys.stderr, flush=True)
        return super().forward(inputs)

def network(*_):
    return Talking(1, 1)
"""


def printed(folder: Path, trial: str) -> str:
    with closing(read_store(f"sqlite:///{folder / 'sweeper.db'}")) as store:
        return str(printed_answer(store, trial)["text"])


def test_each_trial_of_a_gang_has_what_its_ranks_printed(spec: Path, tmp_path: Path) -> None:
    (tmp_path / "talking.py").write_text(NETWORK)
    here("run", str(spec), "--executor", "local", "--oversubscribe")
    shutil.rmtree(tmp_path / "sweeper-logs")  # as on another machine
    assert rows(tmp_path, "SELECT COUNT(*) FROM gang") == [(1,)]
    trials = rows(tmp_path, "SELECT id, json_extract(parameters, '$.batch_size') FROM trial")
    assert len(trials) == 3
    for trial, size in trials:
        said = re.findall(r"rank \d: \d+ samples", printed(tmp_path, trial))  # at once: lines of two ranks may mix
        assert set(said) == {f"rank {rank}: {size} samples" for rank in (0, 1)}


def test_a_failed_trial_has_the_end_that_explains_it(spec: Path, tmp_path: Path) -> None:
    (tmp_path / "talking.py").write_text(NETWORK)
    (tmp_path / "fail").touch()
    process = begin("run", str(spec), "--executor", "local", "--oversubscribe", "--set", "space.batch_size=[32]")
    process.communicate(timeout=200)
    assert process.returncode == 1
    ((trial,),) = rows(tmp_path, "SELECT id FROM trial WHERE state = 'failed'")
    assert "ValueError: no luck" in printed(tmp_path, trial)


def test_its_words(store: Store, run: Any) -> None:
    spec = parse_spec(SMALL)
    first, second, third, *_ = store.trials.of(store.sweeps.add(spec, plan(spec)))
    assert run("log", first.id)[::2] == (1, f"error: trial {first.id}: it has not begun; "
                                            "`sweeper show SWEEP` lists the trials that have\n")  # fmt: skip
    for trial, text in ((first, "one\ntwo"), (second, None)):
        store.attempts.claim(trial.id)
        told = Printed(text, 12) if text else None
        store.attempts.finish(trial.id, 1, TrialState.FAILED, summarize([]), printed=told)
    store.attempts.claim(third.id, lambda number: f"/logs/{number}.log")
    code, out, err = run("log", first.id)
    assert (code, out) == (0, "one\ntwo\n")
    assert "the 12 bytes before this are in" in err
    code, out, err = run("log", second.id)
    assert (code, out) == (0, "")
    assert err == f"attempt 1 of trial {second.id}: the store has no output from its ranks\n"
    assert "is running; what its ranks print is in /logs/1.log" in run("log", third.id)[2]
    problem = f"error: trial {first.id}: it has no attempt 2; its attempts are 1\n"
    assert run("log", first.id, "--attempt", "2") == (1, "", problem)
    assert json.loads(run("log", first.id, "--json")[1]) == {
        "trial": first.id,
        "attempt": 1,
        "state": "failed",
        "log": "",
        "text": "one\ntwo",
        "omitted": 12,
    }
