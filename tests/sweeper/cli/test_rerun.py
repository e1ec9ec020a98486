"""`sweeper rerun --oversubscribed` of trials that can no longer win: no failure, and said so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sweeper.store import Store
from tests.sweeper.shared_trials import LOSES, shared_trials


def test_a_repetition_that_need_not_run_is_told_and_exits_with_zero(
    run: Any, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    space = {"loss": [1, 8]}
    *_, worst = shared_trials(store, f"{LOSES} {{seed}}", space, only_last=True, prune="area", repeats=2)
    for _ in range(2):
        code, out, err = run("rerun", "s", "--oversubscribed", "--executor", "local")
        assert code == 0, err
        assert "not repeated, the mean area of its 2 seeds will be" in out
        assert "it keeps its old result" in out
        assert "1 of 1 trials keep their old results: they were pruned, for they can no longer win" in err
        assert store.trials.find(worst.id) == worst
