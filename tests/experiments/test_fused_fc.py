"""The operators beside others: the small version runs, and the recorded rows say what the README says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.fused_fc.__main__ import main
from experiments.fused_fc.drawing import draw_layers, draw_realignment
from experiments.fused_fc.limits import limits_of
from tests.experiments.commands import redraw, run_small

FOLDER = Path(__file__).parents[2] / "experiments" / "fused_fc"
QUESTIONS = {"bandwidth", "pad", "paper", "layer", "classifier"}
HOPPER = {"tf32": 494.7, "bf16": 989.4}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_small(main, tmp_path_factory.mktemp("small"))


def rows_of(folder: Path, where: str) -> list[dict[str, Any]]:
    path = folder / "result" / f"{where}.json"
    found: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
    return found


def test_the_small_version_answers_every_question(small: Path) -> None:
    rows = rows_of(small, "cpu")
    assert {row["question"] for row in rows} == QUESTIONS
    assert all(row["value"] > 0 and row["baseline_value"] > 0 for row in rows)
    assert {path.name for path in (small / "figures").iterdir()} == {"realignment.svg", "layers.svg"}


def test_the_tables_follow_from_the_recorded_result(tmp_path: Path) -> None:
    redraw(main, FOLDER, tmp_path)
    assert (tmp_path / "README.md").read_text() == (FOLDER / "README.md").read_text()


def test_a_small_share_of_the_data_sheet_is_not_written_as_none_of_it(tmp_path: Path) -> None:
    text = (redraw(main, FOLDER, tmp_path) / "README.md").read_text()
    assert "| 0.00 |" not in text
    assert "| <0.01 |" in text


def test_every_question_is_answered_in_the_recorded_result() -> None:
    assert {row["question"] for row in rows_of(FOLDER, "cpu")} == QUESTIONS
    assert {row["question"] for row in rows_of(FOLDER, "gpu")} in (set(), QUESTIONS)


def test_figures_are_named_by_what_they_show() -> None:
    rows = [{**row, "where": where} for where in ("CPU", "GPU") for row in rows_of(FOLDER, where.lower())]
    shifts = draw_realignment([row for row in rows if row["question"] in ("pad", "paper")])
    layers = draw_layers([row for row in rows if row["question"] == "classifier"])
    joined = [[line.get_linestyle() for line in axes.get_lines()] for axes in shifts.axes]
    assert joined == [["-", "-", "-"], ["-", "-", "None"]]  # on the GPU F.pad has two of the four sizes
    names = [figure.get_suptitle().partition("\n")[0] for figure in (shifts, layers)]
    assert names == ["Realignment", "Fused fully connected layers"]
    assert [axes.get_yscale() for axes in layers.axes] == ["log", "linear"]
    assert layers.axes[1].get_ylim()[0] == 0


@pytest.mark.parametrize(
    ("hardware", "memory", "products"),
    [
        ("NVIDIA H200, driver 580.159", 4800.0, HOPPER),
        ("NVIDIA H100 80GB HBM3, driver 580.159", 3350.0, HOPPER),
        ("AMD EPYC, 2 cores", None, None),
    ],
)
def test_limits_are_those_of_the_gpu_that_was_measured(
    hardware: str, memory: float | None, products: dict[str, float] | None
) -> None:
    found = limits_of(hardware)
    assert (found and found.memory, found and found.products) == (memory, products)
