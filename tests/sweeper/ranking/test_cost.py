"""Prices: what they change, and what they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sweeper.answers.cost import candidate_over, candidates_over
from sweeper.errors import SpecError
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.cost import dollars_per_second
from sweeper.ranking.curve import LossPoint, area, summarize
from sweeper.spec import parse_spec
from sweeper.store import open_store

WRITTEN: dict[str, Any] = {"name": "x", "space": {"workers": [1, 2]}}
PRICED: dict[str, Any] = {**WRITTEN, "resources": {"dollars_per_worker_hour": 1.8}}


def test_a_price_makes_no_other_trial() -> None:
    dear = {**WRITTEN, "resources": {"dollars_per_worker_hour": 99}}
    keys = [[trial.key for trial in plan(parse_spec(written))] for written in (WRITTEN, PRICED, dear)]
    assert keys[0] == keys[1] == keys[2]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"objective": {"over": "dollars"}},
            "objective.over: dollars needs a rate; give resources.dollars_per_worker_hour",
        ),
        (
            {"resources": {"dollars_per_worker_hour": -1}},
            "resources.dollars_per_worker_hour: -1 must be at least 0; give a larger number",
        ),
        (
            {"resources": {"dollars_per_worker_hour": "dear"}},
            "resources.dollars_per_worker_hour: 'dear' is no number; give one, such as 0.1 or 1e-3",
        ),
    ],
)
def test_what_is_no_price_is_refused(changes: dict[str, Any], line: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_spec({**WRITTEN, **changes})
    assert caught.value.problems == [line]


def test_an_area_over_dollars_is_that_of_the_curve_over_what_it_has_cost(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/sweeper.db")
    spec = parse_spec({**PRICED, "objective": {"over": "dollars"}})
    sweep_id = store.sweeps.add(spec, plan(spec))
    points = [LossPoint(n, 64 * n, 1.5 * n, 2.0 / n) for n in range(1, 6)]
    for trial in store.trials.of(sweep_id):
        store.attempts.finish(trial.id, store.attempts.claim(trial.id) or 0, TrialState.COMPLETED, summarize(points))
    sweep = store.sweeps.find(sweep_id)
    assert sweep.spec.rate == 1.8
    for candidate, trial in zip(candidates_over(store, sweep, "dollars"), store.trials.of(sweep_id), strict=True):
        per_second = dollars_per_second(trial.parameters, 1.8)
        assert per_second == pytest.approx(trial.workers * 1.8 / 3600)
        along = [LossPoint(p.step, p.images, per_second * p.seconds, p.loss) for p in points]
        assert candidate.area == pytest.approx(area(along))
        assert candidate_over(trial, "dollars", 1.8) == candidate
        assert candidate_over(trial, "dollars", None).area is None
        assert candidate_over(trial, "images", None).area == trial.area_images
