"""Specs for property tests: any that is valid and small."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from engine.config import TrainingConfig
from sweeper.spec import SweepSpec, parse_spec
from sweeper.spec.command import CommandConfig
from sweeper.spec.sweep_name import is_unshown

RATES = st.integers(1, 999).map(lambda thousandths: thousandths / 1000)


def training(config: TrainingConfig | CommandConfig) -> TrainingConfig:
    """Settings of the engine, as they must be here."""
    assert isinstance(config, TrainingConfig)
    return config


def _axis(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, min_size=1, max_size=4, unique=True)


_SPACES = st.fixed_dictionaries(
    {},
    optional={
        "workers": _axis(st.integers(1, 8)),
        "batch_size": _axis(st.integers(1, 64)),
        "learning_rate": _axis(RATES) | st.just({"low": 0.1, "high": 0.3, "step": 0.1}),
        "momentum": _axis(RATES) | st.just({"low": 0.01, "high": 0.1, "log": True, "count": 2}),
        "exchange.average": _axis(st.sampled_from(["gradients", "weights"])),
        "data": _axis(st.sampled_from(["digits", "synthetic", "cifar10"])),
    },
).filter(bool)


_NAMES = st.text(min_size=1, max_size=20).filter(lambda name: bool(name.strip()) and not any(map(is_unshown, name)))


@st.composite
def specs(draw: st.DrawFn) -> SweepSpec:
    """A valid spec of at most 4 values an axis and 3 repeats."""
    space = draw(_SPACES)
    trial = draw(
        st.fixed_dictionaries(
            {"images": st.integers(10_000, 100_000)},
            optional={"seed": st.integers(0, 2**62), "learning_rate": RATES, "global_batch_size": st.integers(1, 99)},
        )
    )
    objective = {
        "threshold": draw(st.none() | st.floats(allow_nan=False, allow_infinity=False)),
        "over": draw(st.sampled_from(["seconds", "images", "steps"])),
        "group_by": draw(st.lists(st.sampled_from(["workers", *space]), unique=True)),
    }
    return parse_spec(
        {
            "name": draw(_NAMES),
            "trial": trial,
            "space": space,
            "objective": objective,
            "repeats": draw(st.integers(1, 3)),
            "resources": {"cpus_per_worker": draw(st.integers(1, 4)), "gpus_per_worker": draw(st.integers(0, 1))},
        }
    )
