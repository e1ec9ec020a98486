"""The quickstart's notebook runs from its first cell to its last, also where Ray is loaded already."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parent.parent / "experiments" / "quickstart" / "analysis.ipynb"


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert not [output for output in outputs if output.output_type == "error"]
    tables = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert any("8 of 8 trials ended" in table for table in tables)
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert (tmp_path / "curves.png").stat().st_size > 1000
