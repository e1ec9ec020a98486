"""Weak and strong scaling, times, costs and accuracies, rivals and predictions: what the table says of them."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from dashboards.figures import Choices
from dashboards.figures.scaling.panels import panels_of, predicted_line
from dashboards.figures.scaling.table import ScalingTable, scaling_csv, scaling_table
from dashboards.figures.tables import trial_table
from dashboards.plot import draw_figure
from sweeper.errors import FigureError, SpecError
from sweeper.plan import plan
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec import parse_spec
from sweeper.store import Store, SweepRecord
from tests.dashboards.figures.scaling.measuring import IMAGES, seconds_of, step_seconds, trained

BOTH: dict[str, Any] = {"points": [{"batch_size": 64}, {"global_batch_size": 64}], "workers": [1, 2, 4]}
WEAK: dict[str, Any] = {"batch_size": [64], "workers": [1, 2, 4]}
STRONG: dict[str, Any] = {"global_batch_size": [64], "workers": [1, 2, 4]}


def table(
    store: Store, sweep: SweepRecord, *others: SweepRecord, rate: float | None = None, **choices: Any
) -> ScalingTable:
    first = trial_table(store, sweep, rate=rate)
    rest = [trial_table(store, one, threshold=first.threshold, rate=rate) for one in others]
    return scaling_table(store, first, Choices(**choices), rest)


@pytest.mark.parametrize("turned", [False, True])
def test_a_sweep_of_both_kinds_has_a_series_of_each(store: Store, turned: bool) -> None:
    space = {**BOTH, "points": BOTH["points"][::-1]} if turned else BOTH
    found = table(store, trained(store, space))
    weak, strong = found.series
    assert (found.kind, weak.name, strong.name) == ("weak and strong", "weak", "strong")
    assert (weak.kind, strong.kind, found.matched) == ("weak", "strong", True)
    for series, batch in ((weak, lambda workers: 64 * workers), (strong, lambda _: 64)):
        assert [row.workers for row in series.rows] == [1, 2, 4]
        for row in series.rows:
            assert row.seconds == pytest.approx(seconds_of(row.workers, batch(row.workers)))
            assert row.throughput == pytest.approx(IMAGES / row.seconds)  # type: ignore[operator]
    # The time of a step on one worker over that on several.
    assert [row.efficiency for row in weak.rows] == pytest.approx(
        [step_seconds(1, 64) / step_seconds(workers, 64) for workers in (1, 2, 4)]
    )
    assert [row.efficiency for row in strong.rows] == pytest.approx(
        [step_seconds(1, 64) / step_seconds(workers, 64 / workers) / workers for workers in (1, 2, 4)]
    )


def test_each_series_of_both_kinds_has_its_own_settings(store: Store) -> None:
    settings = [{"batch_size": size} for size in (32, 64)] + [{"global_batch_size": size} for size in (64, 512)]
    sweep = trained(store, {"points": settings, "workers": [1, 2]})
    assert sweep.trials == 6  # one worker of 64 and two of 32 are trials of both kinds
    weak, strong = table(store, sweep).series
    assert [row.trials for row in weak.rows] == [2, 2]  # batches 32 and 64 of each worker
    assert [row.trials for row in strong.rows] == [2, 2]  # 64 and 512 of all
    assert strong.rows[1].seconds == pytest.approx((seconds_of(2, 64) + seconds_of(2, 512)) / 2)


def test_the_other_half_may_be_in_another_sweep(store: Store) -> None:
    weak, strong = trained(store, WEAK, name="half a"), trained(store, STRONG, name="half b")
    found = table(store, weak, strong)
    assert [(series.name, series.kind) for series in found.series] == [
        ("half a, weak", "weak"),
        ("half b, strong", "strong"),
    ]
    assert [series.sweep for series in found.series] == [weak.id, strong.id]


def test_a_rival_has_its_sweeps_name(store: Store) -> None:
    mine = trained(store, WEAK, name="mine")
    slower = trained(store, WEAK, name="slower", pace=2.0, trial={"momentum": 0.5})
    points = [LossPoint(n, None, 3.0 * n, 2.0 / n) for n in (1, 2)]
    logs = store.sweeps.add_import("logs", [({"workers": w}, f"{w}.log", points, summarize(points)) for w in (1, 2)])
    found = table(store, mine, slower, store.sweeps.find(logs))
    assert [series.name for series in found.series] == ["mine", "slower", "logs"]
    fast, slow, imported = ([row.seconds for row in series.rows] for series in found.series)
    assert slow == pytest.approx([2 * seconds for seconds in fast if seconds])
    assert imported == [6.0, 6.0]
    assert [row.throughput for row in found.series[2].rows] == [None, None]  # its logs do not say images
    assert [row.to_threshold for row in found.series[2].rows] == [6.0, 6.0]  # by the threshold of the first


def test_sweeps_of_one_name_are_told_apart(store: Store) -> None:
    one, other = trained(store, WEAK), trained(store, WEAK, trial={"momentum": 0.5})
    assert [series.name for series in table(store, one, other).series] == [f"sweep ({one.id})", f"sweep ({other.id})"]
    with pytest.raises(FigureError, match="is in the figure already; name it once"):
        table(store, one, other, one)


def test_training_costs_its_seconds_of_all_workers(store: Store) -> None:
    sweep = trained(store, WEAK)
    assert all(row.dollars is None for row in table(store, sweep).rows)
    for row in table(store, sweep, rate=1.8).rows:
        assert row.dollars == pytest.approx((row.seconds or 0.0) * row.workers * 1.8 / 3600)
    priced = trained(store, WEAK, name="priced", resources={"dollars_per_worker_hour": 3.6})
    assert all(
        row.dollars == pytest.approx((row.seconds or 0.0) * row.workers / 1000) for row in table(store, priced).rows
    )


def test_an_accuracy_is_reached_at_the_first_evaluation_that_has_it(store: Store) -> None:
    curves = {1: (0.5, 0.9, 0.8, 0.95), 2: (0.2, 0.3, 0.92), 4: (0.1, 0.2)}
    sweep = trained(store, WEAK, accuracies=lambda trial: curves[trial.workers])
    (series,) = table(store, sweep, accuracy=0.9).series
    assert [row.to_accuracy for row in series.rows] == [
        pytest.approx(seconds_of(1, 64) * 2 / 8),
        pytest.approx(seconds_of(2, 128) * 3 / 8),
        None,
    ]
    assert [row.to_threshold for row in series.rows] == pytest.approx([(row.seconds or 0.0) / 2 for row in series.rows])


@pytest.mark.parametrize("accuracy", [0.0, -0.1, 1.5, float("nan")])
def test_what_is_no_share_is_refused(store: Store, accuracy: float) -> None:
    sweep = trained(store, WEAK, accuracies=lambda _: (0.5,))
    with pytest.raises(FigureError, match=r"accuracy: .* is not a share of the test set; give one above 0, up to 1"):
        table(store, sweep, accuracy=accuracy)


def test_an_accuracy_needs_evaluations(store: Store) -> None:
    with pytest.raises(FigureError, match=r"none of its trials was evaluated .* set trial.evaluate_every"):
        table(store, trained(store, WEAK), accuracy=0.5)


def test_predictions_are_those_of_forecast(store: Store) -> None:
    space = {"batch_size": [32, 64], "workers": [1, 2, 4]}
    sweep = trained(store, space)
    (series,) = table(store, sweep, rate=3.6, forecast=(8, 16)).series
    assert [row.workers for row in series.all_rows] == [1, 2, 4, 8, 16]
    for row in series.predicted:
        assert (row.predicted, row.trials, row.best, row.to_threshold) == (True, 2, None, None)
        true = [IMAGES // (size * row.workers) * step_seconds(row.workers, size) for size in (32, 64)]
        assert row.seconds == pytest.approx(sum(true) / 2, rel=0.15)
        assert row.dollars == pytest.approx((row.seconds or 0.0) * row.workers / 1000)
        assert row.speedup == pytest.approx(row.throughput / series.rows[0].throughput)  # type: ignore[operator]
        assert row.efficiency == pytest.approx(row.speedup / row.workers)  # type: ignore[operator]


def test_both_kinds_are_predicted_each_by_its_own(store: Store) -> None:
    weak, strong = table(store, trained(store, BOTH), forecast=(8,)).series
    assert weak.predicted[0].seconds == pytest.approx(seconds_of(8, 512), rel=0.1)
    assert strong.predicted[0].seconds == pytest.approx(seconds_of(8, 64), rel=0.3)


def test_batch_normalised_models_and_rivals_are_predicted_where_they_can_be(store: Store) -> None:
    mine = trained(store, WEAK, name="mine", trial={"model": "resnet-20"})
    points = [LossPoint(n, 100 * n, 3.0 * n, 2.0 / n) for n in (1, 2)]
    logs = store.sweeps.add_import("logs", [({"workers": w}, f"{w}.log", points, summarize(points)) for w in (1, 2)])
    found = table(store, mine, store.sweeps.find(logs), forecast=(8,))
    assert [len(series.predicted) for series in found.series] == [1, 0]


def test_a_count_between_measured_ones_is_joined_to_both(store: Store) -> None:
    (series,) = table(store, trained(store, {"batch_size": [64], "workers": [1, 4]}), forecast=(2, 8)).series
    counts, values = predicted_line(series, lambda row: row.seconds)
    assert counts == [1, 2, 2, 2, 4, 4, 4, 8, 8]
    assert [value is None for value in values] == [False, False, True] * 3


@pytest.mark.parametrize(
    ("forecast", "words"),
    [
        ((2,), "2 workers have run already; forecast counts that have not run"),
        ((1_000_000,), "nothing is known of 1000000 workers"),
    ],
)
def test_counts_that_cannot_be_predicted_are_refused(store: Store, forecast: tuple[int, ...], words: str) -> None:
    with pytest.raises(FigureError, match=words):
        table(store, trained(store, WEAK), forecast=forecast)


def test_a_setting_that_both_kinds_have_run_is_predicted_once(store: Store) -> None:
    """One worker has the strong batch, and four have the weak one."""
    settings = [{"batch_size": 64}, {"global_batch_size": 256}]
    weak, strong = table(store, trained(store, {"points": settings, "workers": [1, 2, 4]}), forecast=(8,)).series
    assert [row.trials for row in (*weak.predicted, *strong.predicted)] == [1, 1]


def test_a_count_none_of_whose_trials_is_complete_can_be_predicted(store: Store) -> None:
    sweep = trained(store, WEAK, fails=lambda trial: trial.workers == 2)
    (plain,) = table(store, sweep).series
    assert [row.seconds is None for row in plain.rows] == [False, True, False]
    (series,) = table(store, sweep, forecast=(2, 8)).series
    assert [(row.workers, row.predicted) for row in series.all_rows] == [(1, False), (2, True), (4, False), (8, True)]
    assert all(row.throughput for row in series.all_rows)


def test_a_base_that_failed_is_replaced_by_the_next_count(store: Store) -> None:
    (series,) = table(store, trained(store, WEAK, fails=lambda trial: trial.workers == 1), forecast=(1,)).series
    assert [row.speedup for row in series.all_rows] == pytest.approx(
        [step_seconds(2, 64) / step_seconds(1, 64) / 2, 1.0, 2 * step_seconds(2, 64) / step_seconds(4, 64)], rel=0.1
    )


def test_times_and_costs_can_be_those_of_so_many_images(store: Store) -> None:
    """With a budget of steps, trials of more workers see more images, and the figure compares like with like."""
    sweep = trained(store, BOTH, trial={"images": None, "steps": 16})
    found = table(store, sweep, rate=1.8, images=60_000, forecast=(8,))
    for series in found.series:
        for row in series.rows:
            size = 64 * (row.workers if series.kind == "weak" else 1)
            epoch = 60_000 / size * step_seconds(row.workers, size / row.workers)
            assert row.seconds == pytest.approx(epoch)
            assert row.dollars == pytest.approx(epoch / 3600 * row.workers * 1.8)
        (predicted,) = series.predicted
        assert predicted.seconds == pytest.approx(60_000 / (predicted.throughput or 0.0))
    _, _, time, cost, *_ = panels_of(found)
    assert (time.axis, cost.axis) == ("time of 60,000 images, s", "cost of 60,000 images, $")
    assert time.perfect
    assert cost.perfect
    weak = found.series[0]
    counts, ideal = time.perfect(weak)
    assert counts == [1, 2, 4, 8]
    assert ideal == pytest.approx([(weak.rows[0].seconds or 0.0) / workers for workers in counts])
    assert cost.perfect(weak)[1] == pytest.approx([weak.rows[0].dollars] * 4)


def test_without_a_price_images_cost_nothing_that_is_known(store: Store) -> None:
    assert all(row.dollars is None for row in table(store, trained(store, WEAK), images=10).rows)


@pytest.mark.parametrize("images", [0, -1, 1.5, True])
def test_what_is_no_number_of_images_is_refused(store: Store, images: Any) -> None:
    with pytest.raises(FigureError, match=r"images: .* is not a number of images; give a whole number above 0"):
        table(store, trained(store, WEAK), images=images)


def test_batches_of_commands_may_be_words(store: Store) -> None:
    settings = [{"batch_size": "small"}, {"global_batch_size": "large"}]
    trial = {"command": ["train", "{batch_size}", "{global_batch_size}"]}
    spec = parse_spec({"name": "words", "trial": trial, "space": {"points": settings, "workers": [1, 2]}})
    sweep = store.sweeps.add(spec, plan(spec))
    for one in store.trials.of(sweep):
        attempt = store.attempts.claim(one.id)
        assert attempt
        points = [LossPoint(n, 100 * n, n / one.workers, 2.0 / n) for n in (1, 2)]
        store.attempts.add_points(one.id, attempt, points)
        store.attempts.finish(one.id, attempt, TrialState.COMPLETED, summarize(points))
    found = table(store, store.sweeps.find(sweep))
    assert [row.batch_size for row in found.trials.rows] == ["small", "large"] * 2
    assert [(one.kind, [row.speedup for row in one.rows]) for one in found.series] == [
        ("weak", [1.0, 2.0]),
        ("strong", [1.0, 2.0]),
    ]


def test_sweeps_without_a_forecast_say_why(store: Store) -> None:
    with pytest.raises(SpecError, match="has completed trials only of 2 workers"):
        table(store, trained(store, {"batch_size": [64], "workers": [2]}), forecast=(4,))
    with pytest.raises(SpecError, match="workers: 0 is given; give whole numbers"):
        draw_figure(store, trained(store, WEAK, name="other").id, "scaling", forecast=0)


def test_oversubscribed_counts_are_marked_in_all_panels(store: Store) -> None:
    sweep = trained(store, WEAK, shared=lambda trial: trial.workers == 4)
    (series,) = table(store, sweep, forecast=(8,)).series
    assert [row.oversubscribed for row in series.all_rows] == [False, False, True, False]
    assert series.rows[2].seconds == pytest.approx(seconds_of(4, 256))


def test_panels_are_those_of_what_there_is(store: Store) -> None:
    sweep = trained(store, WEAK, accuracies=lambda _: (0.5,))
    assert [panel.name for panel in panels_of(table(store, sweep))] == [
        "Throughput",
        "Parallel efficiency",
        "Training time",
        "Time to threshold 1.8",
    ]
    assert [panel.axis for panel in panels_of(table(store, sweep, rate=1.0, accuracy=0.5))][3:] == [
        "training cost, $",
        "s to threshold 1.8",
        "s to accuracy 0.5",
    ]


def test_csv_has_a_line_for_each_count_and_all_that_panels_show(store: Store) -> None:
    sweep = trained(store, BOTH, accuracies=lambda _: (0.5,))
    found = table(store, sweep, rate=1.0, accuracy=0.5, forecast=(8,))
    rows = list(csv.DictReader(io.StringIO(scaling_csv(found))))
    assert [(row["scaling"], row["workers"], row["predicted"]) for row in rows] == [
        (kind, str(count), str(count == 8).lower()) for kind in ("weak", "strong") for count in (1, 2, 4, 8)
    ]
    assert all(row["speedup"] and row["seconds"] and row["dollars"] for row in rows)
    assert all(bool(row["seconds_to_accuracy"]) == (row["predicted"] == "false") for row in rows)
    assert {row["sweep"] for row in rows} == {sweep.id}
