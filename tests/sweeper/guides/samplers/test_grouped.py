"""Points that a sampler of groups proposes."""

from __future__ import annotations

import pytest
from optuna.distributions import FloatDistribution, IntDistribution

from sweeper.guides.samplers.grouped import value_at


@pytest.mark.parametrize("low", [1e-4, 3e-3, 0.1, 0.7])
def test_a_point_on_a_bound_of_a_logarithmic_range_is_within_it(low: float) -> None:
    one = FloatDistribution(low, 10 * low, log=True)
    assert low <= value_at(0.0, one) <= value_at(1.0 - 1e-9, one) <= 10 * low
    assert value_at(0.0, IntDistribution(3, 9)) == 3
