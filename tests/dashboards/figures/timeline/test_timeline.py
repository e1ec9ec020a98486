"""The timeline as a figure: its lanes, its sum, and what a picture does not tell apart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dashboards.figures.tables import trial_table
from dashboards.figures.timeline.drawing import draw_timeline
from dashboards.figures.timeline.plotly import timeline_plot
from dashboards.figures.timeline.table import TimelineTable, merged_parts, timeline_csv, timeline_table
from sweeper.errors import FigureError
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import summarize
from sweeper.store import GangRecord, Store
from tests.dashboards.figures.reading import texts
from tests.dashboards.sweeps import curve, submit

ZERO = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def table(store: Store) -> TimelineTable:
    """Two gangs of one worker side by side, then one of two; trials of three seconds, a millisecond apart."""
    sweep = submit(store, {"workers": [1, 2], "batch_size": [8, 16], "learning_rate": [0.1, 0.2]})
    for number, trial in enumerate(store.trials.of(sweep)):
        attempt = store.attempts.claim(trial.id)
        assert attempt
        gang = f"gang-{trial.workers}-{number % 2 if trial.workers == 1 else 0}"
        record = GangRecord(gang, sweep, trial.workers, ["host"], [1], {}, ZERO)
        turn = number // 2 if trial.workers == 1 else number - 2
        held = ZERO + timedelta(seconds=3.001 * turn)
        store.attempts.assign_gang(trial.id, attempt, record, "log", held_since=held)
        store.attempts.start(trial.id, attempt, 0.0005, 0.0005, {})
        points = curve(3.0 * 1.5, 1.0)
        store.attempts.add_points(trial.id, attempt, points)
        phases = {"compute": points[-1].seconds}
        store.attempts.finish(trial.id, attempt, TrialState.COMPLETED, summarize(points), phases=phases)
    found = store.sweeps.find(sweep)
    return timeline_table(store, trial_table(store, found))


def test_lanes_are_named_by_their_workers(table: TimelineTable) -> None:
    assert table.lane_names == ["1 worker, 1", "1 worker, 2", "2 workers"]
    assert table.words.startswith("3 gangs in 18")
    assert table.words.endswith("training took 100% of the time of 2 seats")


def test_what_no_picture_tells_apart_is_merged(table: TimelineTable) -> None:
    (last,) = [gang for gang in table.time.gangs if gang.workers == 2]
    assert len(last.parts) == 12
    merged = list(merged_parts(table.time, last))
    (trained,) = [part for part in merged if part.name == "training"]
    assert (trained.begin, trained.end) == pytest.approx((last.begin + 0.001, last.end))
    drawn = draw_timeline(table)
    assert {"1 worker, 1", "1 worker, 2", "2 workers", "training", "idle"} <= set(texts(drawn))
    bars = timeline_plot(table)["panels"][0]["data"]
    assert {bar["name"] for bar in bars} == {"start", "set-up", "training"}
    assert sum(len(bar["x"]) for bar in bars) < 20


def test_its_csv_has_every_part(table: TimelineTable) -> None:
    header, *lines = timeline_csv(table).splitlines()
    assert header == "gang,workers,lane,trial,attempt,state,part,begin,end"
    assert len(lines) == sum(len(gang.parts) for gang in table.time.gangs) == 24


def test_a_sweep_that_never_had_a_gang_has_no_timeline(store: Store) -> None:
    sweep = submit(store, {"batch_size": [8]})
    with pytest.raises(FigureError, match="none of its attempts had a gang"):
        timeline_table(store, trial_table(store, store.sweeps.find(sweep)))
