"""What a forecast takes from trials of the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sweeper.errors import SpecError
from sweeper.extrapolation import Run
from sweeper.extrapolation.measured_runs import runs_of
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import parse_spec
from sweeper.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    yield opened
    opened.close()


def measured(store: Store, **trial: Any) -> list[Run]:
    spec = parse_spec({"name": "s", "trial": {"model": "mlp", "batch_size": 16, **trial}, "space": {"workers": [1, 2]}})
    sweep = store.sweeps.find(store.sweeps.add(spec, plan(spec)))
    for planned in store.trials.of(sweep.id):
        attempt = store.attempts.claim(planned.id)
        assert attempt is not None
        points = [LossPoint(step, 16 * planned.workers * step, float(step), 2.0 / step) for step in (1, 2)]
        store.attempts.add_points(planned.id, attempt, points)
        store.attempts.finish(planned.id, attempt, TrialState.COMPLETED, summarize(points))
    return runs_of(sweep, store.trials.of(sweep.id))


@pytest.mark.parametrize(
    ("budget", "steps", "images"),
    [
        ({"images": 320}, [20, 10], [320, 320]),
        ({"steps": 20}, [20, 20], [320, 640]),
        ({"epochs": 2, "data": "digits"}, [188, 94], [2994, 2994]),
    ],
)
def test_a_run_has_the_length_of_its_budget(
    budget: dict[str, Any], steps: list[int], images: list[int], store: Store
) -> None:
    runs = measured(store, **budget)
    assert [run.setting.steps(run.workers) for run in runs] == steps
    assert [run.setting.images_of(run.workers) for run in runs] == images
    assert runs[0].setting == runs[1].setting


def test_epochs_of_data_that_nobody_knows_are_refused(store: Store) -> None:
    with pytest.raises(SpecError, match=r"the size of data mine:pictures is not known; give trial.images instead"):
        measured(store, epochs=1, data="mine:pictures")
