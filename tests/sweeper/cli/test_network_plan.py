"""`sweeper costs --plan`: what it estimates, where its numbers are from, and what it refuses."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.channel_parallel.choice import WAYS
from sweeper.gangs.machine import usable_cpus
from tests.processes import eventually
from tests.sweeper.cli.commands import TAG, begin, here, others

OWN = """
from torch import nn

def network(shape, classes):
    return nn.Sequential(
        nn.Conv2d(2, 4, 1, bias=False), nn.Conv2d(4, 2, 1, bias=False), nn.Flatten(), nn.Linear(18, classes)
    )

def grouped(shape, classes):
    return nn.Sequential(nn.Conv2d(2, 4, 1, groups=2), nn.Flatten(), nn.Linear(36, classes))
"""
NUMBERS = ("--latency", "1e-3", "--bandwidth", "1e6", "--speed", "1e6")
SMALL = ("resnet-20", "--input", "3x8x8", "--plan")
TOO_MANY = str(usable_cpus() + 1)


def costs(*arguments: str, code: int = 0) -> str:
    """What the command prints, on standard error if it fails; in this process, where torch is loaded once."""
    out, err = here("costs", *arguments, code=code)
    return err if code else out


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A network of one's own: 2 to 4 to 2 channels, windows of one pixel."""
    (tmp_path / "own_plan.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_plan", raising=False)
    return "own_plan:network"


def test_a_plan_is_what_the_model_comes_to_by_hand(own: str) -> None:
    asked = (own, "--plan", "--workers", "2", "--input", "2x3x3", *NUMBERS, "--json")
    answer: dict[str, Any] = json.loads(costs(*asked))
    assert (answer["batch_size"], answer["workers"]) == (2, 2)
    first, second = answer["layers"]
    # 2 passes of 72 multiply-adds; then 2 latencies and 32 bytes, as many and 2 x 144, or one and 72.
    assert first["seconds"] == pytest.approx(
        dict(zip(WAYS, (2.176e-3, 2.432e-3, 1.216e-3, 2.432e-3), strict=True)), rel=1e-9
    )
    # 3 passes of 72; 2 latencies each, and 32 bytes, 2 x 72 or 2 x 144.
    assert second["seconds"] == pytest.approx(
        dict(zip(WAYS, (2.248e-3, 2.36e-3, 2.504e-3, 2.36e-3), strict=True)), rel=1e-9
    )
    assert [layer["fastest"] for layer in (first, second)] == ["stationary-y", "sample parallelism"]
    assert [layer["planned"] for layer in (first, second)] == ["stationary-y", "stationary-x"]
    assert [layer["bytes_moved"] for layer in (first, second)] == [4 * 36, 4 * 2 * 36]
    best, other = answer["grids"]
    assert (best["samples"], best["channels"], best["layers"]) == (1, 2, {"stationary-x": 1, "stationary-y": 1})
    assert (other["samples"], other["channels"], other["layers"]) == (2, 1, {"sample parallelism": 2})
    assert (best["seconds"], other["seconds"]) == pytest.approx((3.576e-3, 4.424e-3))
    assert best["seconds"] == pytest.approx(best["computing_seconds"] + best["moving_seconds"])
    assert (best["bytes_moved"], other["bytes_moved"]) == (4 * 36 + 4 * 2 * 36, 2 * 64)
    assert set(answer["machine"]["sources"].values()) == {"given"}


def test_the_tables_have_a_line_for_each_grid_and_each_layer() -> None:
    asked = (*SMALL, "--workers", "4", "--batch", "2", *NUMBERS)
    machine, *text = costs(*asked).splitlines()[1:]
    assert machine == (
        "Each worker: latency 1e+03 us (given), bandwidth 0.001 GB/s (given), 0.001 billion multiply-adds/s (given)."
    )
    # Two samples: no grid of 4 x 1, and no layer by samples alone.
    assert sorted(line.split()[0] for line in text if line.startswith(("1x", "2x", "4x"))) == ["1x4", "2x2"]
    layers = [line for line in text if line.startswith("features.")]
    assert len(layers) == 19
    assert {line.split()[6] for line in layers} == {"-"}
    markdown = [line for line in costs(*asked, "--markdown").splitlines() if line.startswith("|")]
    assert sorted({line.count("|") for line in markdown}) == [7, 12]
    assert len(markdown) == 2 + 2 + 2 + 19


def test_more_workers_than_cores_are_planned_on_an_assumed_machine() -> None:
    said = costs(*SMALL, "--workers", TOO_MANY, "--latency", "2e-6")
    assert "latency 2 us (given), bandwidth 10 GB/s (assumed), 50 billion multiply-adds/s (assumed)" in said
    assert f"Assumed, since {TOO_MANY} workers are more than the {usable_cpus()} cores here." in said


def test_without_an_mpiexec_the_machine_is_assumed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SWEEPER_MPIEXEC", str(tmp_path / "none"))
    answer = json.loads(costs(*SMALL, "--workers", "1", "--json"))
    assert set(answer["machine"]["sources"].values()) == {"assumed"}
    assert "cannot be run" in answer["machine"]["why_assumed"]


@pytest.mark.skipif(usable_cpus() < 2, reason="needs two cores")
def test_what_is_not_given_is_measured() -> None:
    answer = json.loads(costs(*SMALL, "--workers", "2", "--json"))
    assert set(answer["machine"]["sources"].values()) == {"measured"}
    assert set(answer["machine"]["collectives"]) == {"gather", "scatter", "sum"}
    for layer in answer["layers"]:
        assert min(layer["seconds"].values()) > 0
        assert layer["seconds"][layer["fastest"]] == min(layer["seconds"].values())
        assert layer["planned_seconds"] == layer["seconds"][layer["planned"]]
    some = json.loads(costs(*SMALL, "--workers", "2", "--bandwidth", "1e9", "--json"))["machine"]
    assert some["sources"] == {"latency_s": "measured", "bytes_per_s": "given", "multiply_adds_per_s": "measured"}
    assert (some["bytes_per_s"], some["collectives"]) == (1e9, {})


def test_one_worker_sends_nothing_and_needs_no_measuring() -> None:
    answer = json.loads(costs(*SMALL, "--workers", "1", "--speed", "1e9", "--json"))
    assert answer["machine"]["why_assumed"] == "one worker sends nothing"
    (grid,) = answer["grids"]
    assert (grid["moving_seconds"], grid["bytes_moved"], grid["layers"]) == (0, 0, {"sample parallelism": 19})
    for layer in answer["layers"]:
        assert [way for way, seconds in layer["seconds"].items() if seconds is not None] == ["sample parallelism"]


def test_an_interrupt_ends_the_measuring_ranks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(TAG, str(tmp_path))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
    try:
        job = begin("costs", "vgg19", "--plan", "--workers", "1", "--batch", "16")
    finally:
        signal.signal(signal.SIGINT, before)
    assert eventually(lambda: len(others(tmp_path)) >= 3)  # the command, mpiexec, and what that starts
    job.send_signal(signal.SIGINT)
    job.communicate()
    assert job.returncode == 130
    assert eventually(lambda: not others(tmp_path))


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (("mlp", "--workers", "8"), 2, "--workers, --latency, --bandwidth and --speed are for a plan; add --plan"),
        (("mlp", "--speed", "1e9"), 2, "--workers, --latency, --bandwidth and --speed are for a plan; add --plan"),
        (("mlp", "--plan"), 2, "--plan needs a number of workers; add it, for example --workers 8"),
        (("mlp", "--plan", "--workers", "0"), 2, "'--workers': 0 is not in the range"),
        (("mlp", "--plan", "--workers", "2", "--speed", "nan"), 2, "nan is not finite; give a number"),
        (("mlp", "--plan", "--workers", "2", "--latency", "0"), 2, "'--latency': 0.0 is not in the range"),
        (("neuron", "--plan", "--workers", "2"), 1, "MODEL: neuron has no convolutions or hidden fully connected"),
        (("vgg19", "--plan", "--workers", "2", "--input", "3"), 1, "--input 3: vgg19 takes pictures; give channels"),
        (("own_plan:grouped", "--plan", "--workers", "2", "--input", "2x3x3"), 1, "layer '0' has 2 groups"),
    ],
)
@pytest.mark.usefixtures("own")
def test_a_plan_that_cannot_be_made_is_one_clear_line(arguments: tuple[str, ...], code: int, problem: str) -> None:
    said = costs(*arguments, code=code)
    assert problem in said
    assert len(said.splitlines()) == 1


def test_neither_the_command_nor_its_help_loads_torch() -> None:
    program = (
        "import sys\nfrom sweeper.cli.main import cli\n"
        "cli.main(['costs', '--help'], standalone_mode=False)\n"
        "print([name for name in ('torch', 'mpi4py') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
