"""The stopwatch."""

from __future__ import annotations

import pytest

from engine.phases import Phases


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the clock says next, one reading after another."""
    readings: list[float] = []
    monkeypatch.setattr("time.perf_counter", lambda: readings.pop(0))
    return readings


def test_phases_add_up_by_name(clock: list[float]) -> None:
    clock += [1.0, 1.5, 10.0, 12.0, 20.0, 20.25]
    phases = Phases()
    for name in ("compute", "gather", "compute"):
        with phases(name):
            pass
    assert phases.totals == {"compute": 0.75, "gather": 2.0}


def test_a_phase_that_fails_counts(clock: list[float]) -> None:
    clock += [1.0, 3.0]
    phases = Phases()
    with pytest.raises(KeyError), phases("compute"):
        raise KeyError
    assert phases.totals == {"compute": 2.0}


def test_a_reset_forgets(clock: list[float]) -> None:
    clock += [1.0, 3.0]
    phases = Phases()
    with phases("compute"):
        pass
    phases.reset()
    assert phases.totals == {}
