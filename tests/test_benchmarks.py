"""Benchmarks run and write rows of the agreed shape; their figures are nobody's assertion."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.measure import RivalError, Row, compare, installed, report
from benchmarks.sweeping import End, overhead

ROW = {"name", "value", "unit", "baseline", "baseline_value", "ratio", "n", "spread", "hardware", "versions"}


@pytest.mark.long
@pytest.mark.parametrize(
    "area",
    [
        "big_sweeps",
        "busy",
        "channel_choice",
        "channel_parallel",
        "cuda_ext",
        "engine",
        "exchange",
        "gangs",
        "live",
        "pages",
        "pruning",
        "repeating",
        "store",
    ],
)
def test_a_quick_benchmark_writes_its_rows(area: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    command = [sys.executable, "-m", f"benchmarks.{area}", "--quick", "--json", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    assert done.returncode == 0, done.stderr
    rows = json.loads(file.read_text())
    assert rows
    for row in rows:
        assert row.keys() == ROW
        # What trials cost beside their training is a difference of two times: on a busy machine it may be below zero.
        assert row["value"] > 0 or ("cost of each" in row["name"] and math.isfinite(row["value"]))
        assert row["name"] in done.stdout


def test_overhead_is_wall_time_less_the_trainings_share_of_it() -> None:
    # Two at once; the clock begins at 10 s, when both of the first two have ended; what ended before does not count.
    ends = [End(0, 2.0, 1.0), End(2, 5.0, 1.0), End(1, 10.0, 1.0), End(3, 12.0, 2.0), End(4, 13.0, 2.0)]
    assert overhead(ends, at_once=2) == pytest.approx(1000 * (3.0 - 4.0 / 2) / 2)


def test_a_rival_that_is_not_installed_is_left_out_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert installed("Rival", "json")
    assert not installed("Rival", "json", "no_such_module")
    assert capsys.readouterr().err == "Rival is left out: no_such_module not installed\n"


def test_rows_are_kept_as_they_come_and_a_rival_that_dies_costs_its_figure_alone(tmp_path: Path) -> None:
    def dies() -> float:
        raise RivalError("died with exit code -6: Aborted")

    def rows() -> Iterator[Row]:
        yield compare("first", "images/s", lambda: 2.0, "Rival", dies, 2, {})
        yield compare("second", "images/s", lambda: 2.0, "Rival", lambda: 4.0, 1, {})
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        report(rows(), tmp_path / "rows.json")
    first, second = json.loads((tmp_path / "rows.json").read_text())
    assert (first["value"], first["baseline_value"], first["ratio"]) == (2.0, None, None)
    assert second["ratio"] == 0.5
