"""A rank that raises, exits or is killed while the others exchange: the gang ends soon, with that rank's words."""

from __future__ import annotations

import subprocess

import pytest

from engine.config import TrainingConfig
from engine.protocol import LAST_WORDS, Train, encode
from tests.mpi_job import mpi_job

METHODS = ["parameter-server", "all-reduce", "ring", "hierarchical", "reduce-broadcast"]
ALWAYS = [("raise", "parameter-server"), ("exit", "ring"), ("kill", "all-reduce"), ("kill", "hierarchical")]
SOON_S = 60  # bounds a hang, not a speed: the ranks have to come up first


@pytest.mark.parametrize(
    ("how", "method"),
    [
        pytest.param(how, method, marks=[] if (how, method) in ALWAYS else pytest.mark.long)
        for how in ("raise", "exit", "kill")
        for method in METHODS
    ],
)
def test_the_gang_ends_with_the_ranks_words(how: str, method: str) -> None:
    config = TrainingConfig.model_validate(
        {
            "model": "neuron",
            "data": "step-function",
            "images": 10**9,
            "batch_size": 8,
            "device": "cpu",
            "exchange": method,
        }
    )
    with mpi_job(3, "-m", "tests.engine.failing_rank", how, stderr=subprocess.STDOUT) as job:
        assert job.stdin is not None
        assert job.stdout is not None
        job.stdin.write(encode(Train("t", config.model_dump(mode="json"))) + "\n")
        job.stdin.flush()  # and open still: at its end a gang goes by itself
        job.wait(SOON_S)
        said = job.stdout.read()
    assert job.returncode != 0
    words = [line for line in said.splitlines() if line.startswith(LAST_WORDS)]
    if how == "kill":
        assert not words, said
    else:
        assert {line.partition(":")[0] for line in words} == {f"{LAST_WORDS} 1"}, said
        assert words[-1].endswith("no more")
