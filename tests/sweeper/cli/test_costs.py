"""`sweeper costs`: the table, Markdown, JSON, and inputs that do not fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from sweeper.cli.main import main

OWN = """
from torch import nn

def network(shape, classes):
    return nn.Sequential(nn.Conv2d(shape[0], 4, 3), nn.ReLU(), nn.Flatten(), nn.Dropout(), nn.LazyLinear(classes))

def plain(shape, classes):
    return nn.Sequential(nn.Conv2d(shape[0], 4, 3), nn.ReLU(), nn.Flatten(), nn.Dropout(), nn.Linear(16, classes))
"""


@dataclass(frozen=True)
class Done:
    """What a command left."""

    exit_code: int
    stdout: str
    stderr: str


Command = Callable[..., Done]


@pytest.fixture
def costs(capfd: pytest.CaptureFixture[str]) -> Command:
    """`sweeper costs` with these arguments; what Python's warnings print is in its standard error."""

    def run(*arguments: str) -> Done:
        with pytest.raises(SystemExit) as ended:
            main(["costs", *arguments])
        return Done(int(ended.value.code or 0), *capfd.readouterr())

    return run


def test_the_published_network_is_counted_as_published(costs: Command) -> None:
    done = costs("alexnet", "--json")
    answer = json.loads(done.stdout)
    assert (answer["input"], answer["classes"], answer["batch_size"]) == ([3, 224, 224], 1000, 1)
    assert (answer["parameters"], answer["multiply_adds"]) == (61_100_840, 714_188_480)
    assert answer["weights"] == answer["parameters"] - (64 + 192 + 384 + 256 + 256 + 4096 + 4096 + 1000)
    for name in ("parameters", "weights", "activations", "multiply_adds"):
        assert answer[name] == sum(layer[name] for layer in answer["layers"])
    held = answer["memory_bytes"] - 8 * answer["parameters"]
    assert held == sum(layer["memory_bytes"] for layer in answer["layers"])
    assert answer["layers"][0] == {
        "name": "features.0",
        "kind": "convolution 11x11, stride 4x4",
        "output": [64, 55, 55],
        "activations": 193_600,
        "parameters": 23_296,
        "weights": 23_232,
        "multiply_adds": 70_276_800,
        "receptive_field": [11, 11],
        "memory_bytes": 4 * (193_600 + 150_528),
    }


@pytest.mark.parametrize(
    ("model", "shape", "classes"),
    [
        ("vgg19-plain", [3, 224, 224], 1000),
        ("resnet-44", [3, 32, 32], 10),
        ("alexnet-cifar", [3, 32, 32], 10),
        ("mlp", [1, 28, 28], 10),
        ("neuron", [1], 2),
    ],
)
def test_a_model_is_counted_for_the_samples_of_its_paper(
    costs: Command, model: str, shape: list[int], classes: int
) -> None:
    answer = json.loads(costs(model, "--json").stdout)
    assert (answer["input"], answer["classes"]) == (shape, classes)


def test_memory_grows_with_the_batch_and_nothing_else_does(costs: Command) -> None:
    asked = ("alexnet-cifar", "--input", "1x28x28", "--json")
    one, many = (json.loads(costs(*asked, "--batch", str(batch)).stdout) for batch in (1, 64))
    assert many["multiply_adds"] == one["multiply_adds"]
    held = 8 * one["parameters"]
    assert many["memory_bytes"] - held == 64 * (one["memory_bytes"] - held)


def test_the_table_has_a_row_a_layer_and_a_total(costs: Command) -> None:
    done = costs("resnet-20", "--batch", "2")
    first, _, *rows = done.stdout.splitlines()
    assert first == "resnet-20 for samples of 3x32x32, 10 classes, batch size 2"
    assert rows[-1].split()[0] == "total"
    assert "269,722" in rows[-1].split()
    lines = costs("resnet-20", "--markdown").stdout.splitlines()
    assert {line.count("|") for line in lines} == {10}
    assert lines[1].startswith("| --- | --- | --- | ---: |")
    assert len(lines) == len(rows) + 2


def test_a_model_of_your_own_is_counted(costs: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_costs.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    answer = json.loads(costs("own_costs:plain", "--input", "1x4x4", "--classes", "7", "--json").stdout)
    # The samples, the outputs of the first layer with ReLU, the mask of the dropout, and what it leaves.
    assert answer["memory_bytes"] == 8 * answer["parameters"] + 4 * (16 + 3 * 4 * 2 * 2)
    assert answer["parameters"] == 9 * 4 + 4 + 16 * 7 + 7
    lazy = json.loads(costs("own_costs:network", "--input", "1x4x4", "--classes", "7", "--json").stdout)
    assert lazy == {**answer, "model": "own_costs:network"}


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (("vgg19", "--input", "3"), 1, "error: --input 3: vgg19 takes pictures; give channels, height and width"),
        (("alexnet", "--input", "3x1x1"), 1, "error: --input 3x1x1: alexnet does not take samples of this shape"),
        (("mlp", "--input", "0x3"), 2, "'0x3' is not a shape; give channels, height and width, for example 3x224x224"),
        (("vgg20",), 2, "'vgg20' is not known; give one of alexnet-cifar, "),
        (("missing_module:network",), 1, "'missing_module:network': there is no module missing_module"),
        (("mlp", "--json", "--markdown"), 2, "--markdown and --json exclude each other"),
    ],
)
def test_what_cannot_be_counted_is_one_clear_line(
    costs: Command, arguments: tuple[str, ...], code: int, problem: str
) -> None:
    done = costs(*arguments)
    assert (done.exit_code, done.stdout) == (code, "")
    assert problem in done.stderr
    assert len(done.stderr.splitlines()) == 1
