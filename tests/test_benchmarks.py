"""Benchmarks run and write rows of the agreed shape; their figures are nobody's assertion."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROW = {"name", "value", "unit", "baseline", "baseline_value", "ratio", "n", "spread", "hardware", "versions"}


@pytest.mark.parametrize("area", ["cuda_ext", "engine", "exchange", "gangs", "store"])
def test_a_quick_benchmark_writes_its_rows(area: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    command = [sys.executable, "-m", f"benchmarks.{area}", "--quick", "--json", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    assert done.returncode == 0, done.stderr
    rows = json.loads(file.read_text())
    assert rows
    for row in rows:
        assert row.keys() == ROW
        assert row["value"] > 0
        assert row["name"] in done.stdout
