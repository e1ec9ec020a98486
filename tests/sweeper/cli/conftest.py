"""A folder of its own for each test, with a spec in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sweeper.cli.commands import TAG


@pytest.fixture
def spec(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test module's SPEC as a file in the working folder; what is started there can be found by its tag."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(TAG, str(tmp_path))
    path = tmp_path / "sweep.yaml"
    path.write_text(request.module.SPEC)
    return path
