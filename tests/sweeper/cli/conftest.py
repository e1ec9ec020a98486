"""A folder of its own for each test, with a spec in it; a store, and commands on it without a process of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sweeper.cli.main import main
from sweeper.store import Store, open_store
from tests.sweeper.cli.commands import TAG


@pytest.fixture
def spec(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test module's SPEC as a file in the working folder; what is started there can be found by its tag."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(TAG, str(tmp_path))
    path = tmp_path / "sweep.yaml"
    path.write_text(request.module.SPEC)
    return path


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A new store, beside the one that commands make in the working folder."""
    return open_store(f"sqlite:///{tmp_path / 'sweeps.db'}")


@pytest.fixture
def run(store: Store, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command on the store; gives exit code, standard output and standard error."""

    def run_(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as exit_:
            main([*arguments, "--store", store.name])
        captured = capsys.readouterr()
        return int(exit_.value.code or 0), captured.out, captured.err

    return run_
