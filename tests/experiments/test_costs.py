"""What known networks cost: the tables follow from the code, and the counts from hand formulas."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from experiments.costs.__main__ import main
from experiments.costs.running import counted
from tests.experiments.commands import redraw, run_small

FOLDER = Path(__file__).parents[2] / "experiments" / "costs"


@pytest.fixture(scope="module")
def rows() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(json.dumps(counted()))
    return found


def test_the_recorded_result_is_what_the_code_counts(rows: dict[str, list[dict[str, Any]]], tmp_path: Path) -> None:
    run_small(main, tmp_path)
    for name, counts in rows.items():
        assert json.loads((FOLDER / "result" / f"{name}.json").read_text()) == counts
        assert json.loads((tmp_path / "result" / f"{name}.json").read_text()) == counts


def test_the_tables_follow_from_the_recorded_result(tmp_path: Path) -> None:
    redraw(main, FOLDER, tmp_path)
    assert (tmp_path / "README.md").read_text() == (FOLDER / "README.md").read_text()


def product(text: str) -> int:
    total = 0
    for term in text.split(" + "):
        factor = 1
        for number in term.split(" * "):
            factor *= int(number.replace(",", ""))
        total += factor
    return total


def tables() -> dict[str, list[dict[str, str]]]:
    found = {}
    for name, text in re.findall(
        r"<!-- table: ([\w-]+) -->\n(.*?)<!-- end -->", (FOLDER / "README.md").read_text(), re.S
    ):
        header, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines())
        found[name] = [dict(zip(header, line, strict=True)) for line in lines]
    return found


def number(text: str) -> int:
    return int(text.strip("*").replace(",", ""))


@pytest.mark.parametrize(("name", "total"), [("alexnet", 61_100_840), ("two-columns", 60_965_224)])
def test_alexnets_calculations_come_to_its_parameters(name: str, total: int) -> None:
    *layers, last = tables()[name]
    for row in layers:
        assert number(row["parameters"]) == (0 if row["calculation"] == "no weights" else product(row["calculation"]))
    assert number(last["parameters"]) == sum(number(row["parameters"]) for row in layers) == total


def test_vggs_table_has_the_homeworks_values() -> None:
    *layers, last = tables()["vgg19"]
    assert [row["layer"] for row in layers].count("CONV3-512") == 8
    for row in layers:
        for cell in (row["activations"], row["parameters"]):
            calculation, equals, value = cell.partition(" = ")
            assert not equals or product(calculation) == number(value)
    assert layers[0]["activations"].endswith("150,528")
    assert layers[9]["activations"] == "56 * 56 * 256 = 802,816"
    assert layers[12]["parameters"] == "3 * 3 * 256 * 512 = 1,179,648"
    assert layers[-2]["parameters"] == "4096 * 4096 = 16,777,216"
    assert number(last["activations"]) == sum(number(row["activations"].rpartition("= ")[2]) for row in layers)
    assert number(last["parameters"]) == 143_667_240 - 5_504 - 9_192


def test_inception_modules_come_to_their_hand_formulas() -> None:
    places = 32 * 32
    naive = places * 256 * (128 + 9 * 192 + 25 * 96)
    reduced = places * (256 * (128 + 3 * 64) + 64 * (9 * 192 + 25 * 96))
    as_published = places * (256 * (128 + 128 + 32 + 64) + 9 * 128 * 192 + 25 * 32 * 96)
    for row in tables()["inception"]:
        assert number(row["operations"]) == product(row["calculation"])
    saving = tables()["saving"]
    assert [number(row["operations"]) for row in saving] == [naive, reduced, as_published]
    assert [row["output"] for row in saving] == ["32 * 32 * 672", "32 * 32 * 480", "32 * 32 * 480"]
    assert saving[1]["saving"] == f"{1 - reduced / naive:.1%}" == "68.2%"


def test_stacks_see_what_the_formula_says() -> None:
    for row in tables()["stacks"]:
        filters, side = int(row["filters N"]), int(row["side F"])
        assert int(row["counted"]) == filters * side - filters + 1
        assert number(row["weights of the stack"]) == filters * (side * 64) ** 2
        assert number(row["of one large filter"]) == (int(row["counted"]) * 64) ** 2
