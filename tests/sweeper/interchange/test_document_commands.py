"""The commands of docs/interchange.md run as they stand there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from torch.utils.tensorboard import SummaryWriter

from sweeper.cli.main import main
from sweeper.store import open_store
from tests.sweeper.interchange.archived_sweeps import fill

ROOT = Path(__file__).parent.parent.parent.parent
BLOCKS = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "interchange.md").read_text(), flags=re.DOTALL)


def run_all(block: str) -> int:
    """Run each command of a block; how many there were."""
    commands = [shlex.split(line, comments=True) for line in block.splitlines() if line.strip()]
    for word, *arguments in commands:
        assert word == "sweeper"
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        assert not exit_.value.code, arguments
    return len(commands)


def test_exports_and_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_store("sqlite:///sweeper.db")
    fill(store, "quickstart")
    assert run_all(BLOCKS[0]) == 8
    assert [sweep.name for sweep in store.sweeps.all()].count("quickstart") == 1
    assert {sweep.name for sweep in store.sweeps.all()} == {"quickstart", "copy", "again"}


def test_runs_of_other_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
    from mlflow.entities import Metric
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    monkeypatch.chdir(tmp_path)
    mlflow = SqlAlchemyStore("sqlite:///mlflow.db", str(tmp_path))
    run = mlflow.create_run(mlflow.create_experiment("cifar"), "me", 0, [], "first").info.run_id
    mlflow.log_batch(run, [Metric("train_loss", 2.0 / n, 1000 * n, n) for n in (1, 2)], [], [])
    mlflow.engine.dispose()
    with SummaryWriter("tensorboard-runs/first") as writer:
        writer.add_scalar("Loss/train", 1.0, 1)
    assert run_all(BLOCKS[1]) == 3
    assert {sweep.name for sweep in open_store("sqlite:///sweeper.db").sweeps.all()} == {"cifar", "tensorboard-runs"}
