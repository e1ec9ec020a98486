"""The learning rate over a run."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from engine.config import TrainingConfig
from engine.schedule import rate_of


def rates(workers: int = 1, **schedule: Any) -> list[float]:
    """Of a run of eight steps whose peak is 0.8."""
    settings = {"images": 80, "global_batch_size": 10, "learning_rate": 0.8, "schedule": schedule}
    config = TrainingConfig.model_validate(settings)
    return [rate_of(config, step, config.budget(workers, 0).steps, workers) for step in range(8)]


def test_a_constant_rate_is_the_given_one_to_the_last_bit() -> None:
    assert rates() == [0.8] * 8


def test_a_warm_up_rises_to_the_peak() -> None:
    assert rates(warm_up=0.5) == pytest.approx([0.2, 0.4, 0.6, 0.8, 0.8, 0.8, 0.8, 0.8])


def test_steps_fall_at_their_milestones() -> None:
    assert rates(kind="step", milestones=[0.25, 0.5]) == pytest.approx([0.8] * 2 + [0.08] * 2 + [0.008] * 4)


def test_a_cosine_goes_down_half_a_wave_after_the_warm_up() -> None:
    found = rates(kind="cosine", warm_up=0.5)
    assert found == pytest.approx([0.2, 0.4, 0.6, 0.8, 0.8, 0.4 * (1 + 0.5**0.5), 0.4, 0.4 * (1 - 0.5**0.5)])


def test_the_peak_may_grow_with_the_workers() -> None:
    assert rates(workers=4, linear_scaling=True) == [3.2] * 8
    assert rates(workers=4) == [0.8] * 8


def test_a_kind_may_be_given_alone() -> None:
    short = TrainingConfig.model_validate({"schedule": "cosine", "exchange": "ring"})
    assert (short.schedule.kind, short.exchange.method) == ("cosine", "ring")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"schedule": {"milestones": [0.5, 0.25]}}, "milestones must rise"),
        ({"schedule": {"warm_up": 1}}, "schedule.warm_up"),
        ({"schedule": "triangle"}, "schedule.kind"),
        ({"exchange": {"every": 2}}, "every is 2, and gradients are averaged at each step: use average: weights"),
        ({"exchange": "gossip"}, "exchange.method"),
        ({"precision": "fp8"}, "precision"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        TrainingConfig.model_validate(settings)
