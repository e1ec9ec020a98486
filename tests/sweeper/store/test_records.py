"""What records say besides their columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sweeper.plan import plan
from sweeper.spec import parse_spec
from sweeper.store import TrialPhases, open_store


@pytest.mark.parametrize(
    ("trial", "images"),
    [
        ({"images": 5_000}, 5_000),
        ({"epochs": 2, "data": "digits"}, 2_994),
        ({"steps": 10, "batch_size": 16}, 320),
        ({"epochs": 1, "data": "mine:pictures"}, None),
        ({"command": ["true"]}, None),
    ],
)
def test_a_trial_knows_the_images_of_its_whole_run(trial: dict[str, Any], images: int | None, tmp_path: Path) -> None:
    spec = parse_spec({"name": "s", "trial": trial, "space": {"workers": [2]}})
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    (found,) = store.trials.of(store.sweeps.add(spec, plan(spec)))
    assert found.whole_images == images
    store.close()


def test_phases_of_a_step_are_the_mean_over_all_steps() -> None:
    assert TrialPhases(4, {"compute": 2.0, "update": 1.0}).per_step == {"compute": 0.5, "update": 0.25}
    assert TrialPhases(None, {"compute": 2.0}).per_step == {}
