"""Forecasts of curves: what they learn, what they stop, and at which risk."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest

from sweeper.guides.curve_model import STAGES, CurveModel, level_of, stage_of
from sweeper.guides.forecast_guide import ForecastGuide
from sweeper.guides.forecast_pruner import ForecastPruner, Length
from sweeper.plan.trial import TrialState
from sweeper.ranking import Candidate
from sweeper.ranking.area_bound import AreaBound
from sweeper.ranking.curve import LossPoint, area, summarize

POINTS = 100


def falling(pace: float, noise: float = 0.0, seed: int = 0, points: int = POINTS) -> list[float]:
    """From 2.3 down to 0.3 at most, by a pace between 0 and 1."""
    order = random.Random(seed)
    losses = [0.3 + 2 * math.exp(-3 * pace * n / points) for n in range(1, points + 1)]
    return [loss * math.exp(order.gauss(0, noise)) for loss in losses]


def points_of(losses: Sequence[float], pace: float = 1.0) -> list[LossPoint]:
    return [LossPoint(10 * n, 320 * n, pace * n, loss) for n, loss in enumerate(losses, 1)]


def learnt(paces: Sequence[float], noise: float = 0.0) -> CurveModel:
    model, progress = CurveModel(), np.arange(1, POINTS + 1) / POINTS
    for number, pace in enumerate(paces):
        model.add([pace], progress, np.array(falling(pace, noise, number)))
    return model


PACES = [n / 10 for n in range(1, 11)]


@pytest.mark.parametrize("stage", [3, 7, 12])
@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_the_rest_of_a_curve_between_known_ones_is_forecast(stage: int, noise: float) -> None:
    losses = falling(0.55, noise, 99)
    count = int(STAGES[stage] * POINTS)
    level = level_of(losses[:count])
    assert level
    rest = learnt(PACES, noise).rest([0.55], stage, level)
    assert rest
    mean, lowest = math.log(np.mean(losses[count:])), math.log(min(losses[count:]))
    assert rest.mean.mean == pytest.approx(mean, abs=max(0.02, 3 * rest.mean.deviation))
    assert rest.lowest.mean == pytest.approx(lowest, abs=max(0.02, 3 * rest.lowest.deviation))
    assert rest.mean.deviation < 0.3
    assert rest.mean.degrees == 9


def test_far_from_all_that_is_known_a_forecast_is_unsure() -> None:
    model, level = learnt(PACES[:5], 0.02), level_of(falling(0.5)[:10])
    assert level
    near, far = model.rest([0.5], 4, level), model.rest([3.0], 4, level)
    assert near
    assert far
    assert far.mean.deviation > 3 * near.mean.deviation
    assert far.mean.deviation > 0.2


def test_few_curves_make_no_forecast_and_equal_points_count_once() -> None:
    level = level_of(falling(0.5)[:10])
    assert level
    assert learnt(PACES[:3]).rest([0.5], 4, level) is None
    assert learnt([0.5] * 10).rest([0.5], 4, level) is None


@pytest.mark.parametrize(
    ("progress", "stage"), [(0.0, None), (0.019, None), (0.02, 0), (0.1, 4), (0.5, 9), (1.0, len(STAGES) - 1)]
)
def test_stages(progress: float, stage: int | None) -> None:
    assert stage_of(progress) == stage


def test_curves_of_zeros_and_of_few_points_are_borne() -> None:
    model = CurveModel()
    for number, losses in enumerate(
        [[0.0] * 50, [1.0] * 50, [1.0], [1.0, 0.5], [1.0, 0.5, 0.2], [2.0] * 50, [3.0] * 9]
    ):
        model.add([number / 7], np.arange(1, len(losses) + 1) / len(losses), np.array(losses))
    level = level_of([1.0] * 10)
    assert level
    rest = model.rest([0.5], 5, level)
    assert rest is not None
    assert all(map(math.isfinite, [*rest.mean, *rest.lowest]))


def candidate(trial: str, points: Sequence[LossPoint], **parameters: float) -> Candidate:
    summary = summarize(points)
    given = {"workers": 1, "learning_rate": trial, **parameters}
    return Candidate(trial, given, TrialState.COMPLETED, summary.finite, area(points), summary.minimum_loss)


def pruner(threshold: float | None = 0.6, risk: float = 0.01, noise: float = 0.02, total: int = 20) -> ForecastPruner:
    """Knows ten curves of paces up to 1, the fastest of which is the one to beat."""
    coordinates = {f"t{n}": [n / 10] for n in range(total)} | {"new": [0.55], "fast": [1.0]}
    made = ForecastPruner(AreaBound(threshold, "seconds", ("workers",)), risk=risk, coordinates=coordinates)
    for number, pace in enumerate(PACES):
        points = points_of(falling(pace, noise, number))
        made.completed(candidate(f"t{number + 1}", points))
        made.ended(f"t{number + 1}", points)
    return made


def stopped_at(made: ForecastPruner, trial: str, points: Sequence[LossPoint], steps: int | None = None) -> int | None:
    made.begin(trial, {"workers": 1}, steps if steps is not None else points[-1].step, None)
    return next((n for n, point in enumerate(points, 1) if made.point(trial, point)), None)


def test_a_curve_that_falls_too_slowly_is_stopped_early_and_a_better_one_is_not() -> None:
    slow = stopped_at(pruner(), "new", points_of(falling(0.4, 0.02, 50)))
    assert slow is not None
    assert slow <= POINTS // 4
    assert stopped_at(pruner(), "fast", points_of(falling(1.05, 0.02, 50))) is None


def test_a_run_that_has_collapsed_is_stopped_soon() -> None:
    losses = [*falling(1.0)[:30], *[2.3] * 70]
    stopped = stopped_at(pruner(), "fast", points_of(losses))
    assert stopped is not None
    assert stopped <= 55


def test_what_will_not_qualify_is_stopped_where_nobody_is_to_beat() -> None:
    made = pruner(threshold=0.05)
    made.begin("new", {"workers": 1}, 10 * POINTS, None)
    words = next((str(why) for p in points_of(falling(0.5, 0.02, 5)) if (why := made.point("new", p))), "")
    assert words.startswith("its lowest loss will be about 0.")
    assert "the threshold is 0.05 (chance " in words


def test_the_reason_tells_area_and_rival() -> None:
    made = pruner()
    made.begin("new", {"workers": 1}, 10 * POINTS, None)
    verdict = next(v for p in points_of(falling(0.5, 0.02, 5)) if (v := made.point("new", p)))
    assert str(verdict).startswith(f"its area will be about {verdict.bound:.5g}, and trial t10 has ")
    assert verdict.bound == pytest.approx(area(points_of(falling(0.5))), rel=0.2)


def test_a_smaller_risk_waits_longer() -> None:
    points = points_of(falling(0.9, 0.02, 5))
    early, late = (stopped_at(pruner(risk=risk), "new", points) for risk in (0.5, 1e-12))
    assert early is not None
    assert late is None or late > early


def test_where_seeds_lie_far_apart_a_rival_may_have_been_lucky() -> None:
    points = points_of(falling(0.75, 0.02, 5))
    alike, apart = pruner(), pruner()
    for made, factor in ((alike, 1.01), (apart, 1.5)):
        for seed in range(6):
            seen = points_of([loss * factor ** (seed % 2) for loss in falling(0.1)])
            made.completed(candidate(f"s{seed}", seen, learning_rate=0.1, seed=seed))
    sure, unsure = stopped_at(alike, "new", points), stopped_at(apart, "new", points)
    assert sure is not None
    assert unsure is None or unsure > sure


def test_the_chances_of_all_that_is_stopped_stay_within_the_risk() -> None:
    made = pruner(total=200)
    stopped = 0
    for number in range(11, 150):
        made.coordinates = {**made.coordinates, f"t{number}": [0.3 + 0.6 * number / 150]}
        points = points_of(falling(0.3 + 0.6 * number / 150, 0.02, number))
        stopped += stopped_at(made, f"t{number}", points) is not None
        made.ended(f"t{number}", ())
    assert stopped > 20
    assert made._spent <= 0.01


def test_the_time_that_is_left_counts() -> None:
    """The same curve over steps, in a third of the time."""
    points = falling(0.55, 0.02, 5)
    assert stopped_at(pruner(threshold=None), "new", points_of(points)) is not None
    assert stopped_at(pruner(threshold=None), "new", points_of(points, pace=0.3)) is None


@pytest.mark.parametrize("losses", [[math.nan] * 9, [1.0, math.inf, 1.0], [2.0], []])
def test_odd_curves_are_borne(losses: list[float]) -> None:
    made = pruner()
    assert stopped_at(made, "new", points_of(losses), steps=1000) is None
    made.ended("new", points_of(losses))


def test_without_a_known_length_and_with_negative_losses_nothing_is_forecast() -> None:
    slow = points_of(falling(0.2, 0.02, 5))[:40]
    assert stopped_at(pruner(), "new", slow, steps=0) is None
    made = pruner()
    made.begin("other", {"workers": 1}, 1000, None)
    made.point("other", LossPoint(1, 32, 1.0, -0.1))
    assert stopped_at(made, "new", slow, steps=1000) is None


def test_what_others_have_pruned_takes_of_the_risk() -> None:
    made = pruner()
    for _ in range(1000):
        made.pruned_elsewhere()
    assert made._spent == pytest.approx(made.risk)
    assert stopped_at(made, "new", points_of(falling(0.6, 0.02, 5))[:50], steps=1000) is None


@pytest.mark.parametrize("stage", [3, 7])
def test_stopped_curves_tell_of_others_and_count_for_less_than_finished_ones(stage: int) -> None:
    """Eight curves, of which six were stopped after a half: too few have finished for a forecast of their own."""
    model, progress = CurveModel(), np.arange(1, POINTS + 1) / POINTS
    for number, pace in enumerate(PACES[:8]):
        end = POINTS if number in (2, 6) else POINTS // 2
        model.add([pace], progress[:end], np.array(falling(pace, 0.01, number))[:end])
    losses = falling(0.55, 0.01, 99)
    count = int(STAGES[stage] * POINTS)
    level = level_of(losses[:count])
    assert level
    rest = model.rest([0.55], stage, level)
    assert rest
    off = rest.mean.mean - math.log(np.mean(losses[count:]))
    assert abs(off) < max(0.1, 3 * rest.mean.deviation)
    assert rest.mean.degrees < 7  # those of eight finished ones


def test_more_of_a_curve_replaces_less_of_it() -> None:
    model, progress = CurveModel(), np.arange(1, POINTS + 1) / POINTS
    losses = np.array(falling(0.5))
    for end, wanted in ((30, 0.3), (20, 0.3), (60, 0.6), (POINTS, 1.0)):
        model.add([0.5], progress[:end], losses[:end])
        assert not model.wants([0.5], wanted)
    assert model.wants([0.6], 0.1)


@pytest.mark.parametrize("losses", [[2.3] * 5 + [1e3, 1e9, 1e20], [1e20, 1e5, 2.3, 2.3, 2.3, 2.3, 2.3, 2.3]])
@pytest.mark.parametrize("whole", [False, True])
def test_a_curve_that_explodes_spoils_no_forecast(losses: list[float], whole: bool) -> None:
    model = learnt(PACES, 0.02)
    model.add([0.45], np.arange(1, 9) / (8 if whole else 100), np.array(losses))
    (rest,) = model.whole([[0.55]])
    assert rest.mean.mean == pytest.approx(math.log(np.mean(falling(0.55))), abs=0.1)
    assert rest.mean.overall_deviation < 1


def test_what_has_not_begun_is_forecast_from_its_settings_alone() -> None:
    (near, far) = learnt(PACES, 0.02).whole([[0.55], [3.0]])
    assert near.mean.mean == pytest.approx(math.log(np.mean(falling(0.55))), abs=0.1)
    assert near.lowest.mean == pytest.approx(math.log(min(falling(0.55))), abs=0.1)
    assert far.mean.deviation > 3 * near.mean.deviation
    assert learnt(PACES[:3]).whole([[0.5]]) == []


def waiting(**parameters: float) -> dict[str, tuple[dict[str, float], Length]]:
    return {"new": ({"workers": 1, **parameters}, Length(10 * POINTS, 320 * POINTS))}


def test_what_takes_far_too_long_does_not_begin_once_the_time_of_its_steps_is_known() -> None:
    made = pruner()
    made.plan({"new": {"workers": 1}})
    assert made.unlikely(waiting(batch_size=8)) == {}  # nobody knows how long it takes
    for batch, pace in ((8, 20.0), (16, 1.0)):
        made.begin(f"timed {batch}", {"workers": 1, "batch_size": batch, "learning_rate": 0.1}, 10 * POINTS, None)
        for point in points_of(falling(0.5)[:6], pace):
            made.point(f"timed {batch}", point)
    assert made.unlikely(waiting(batch_size=16, learning_rate=0.2)) == {}
    ((trial, why),) = made.unlikely(waiting(batch_size=8, learning_rate=0.2)).items()
    assert trial == "new"
    assert str(why).startswith("its area will be about ")
    assert 0 < made._spent <= made.risk


def test_over_images_the_length_is_known_and_what_is_like_the_best_begins() -> None:
    bound = AreaBound(0.6, "images", ("workers",))
    made = ForecastPruner(bound, coordinates={f"t{n}": [n / 10] for n in range(20)} | {"new": [0.05], "good": [0.97]})
    for number, pace in enumerate(PACES):
        points = points_of(falling(pace, 0.002, number))
        summary = summarize(points)
        made.completed(candidate(f"t{number + 1}", points)._replace(area=summary.area_images))
        made.ended(f"t{number + 1}", points)
    length = Length(10 * POINTS, 320 * POINTS)
    made.plan({"new": {"workers": 1}, "good": {"workers": 1}})
    found = made.unlikely({"new": ({"workers": 1}, length), "good": ({"workers": 1}, length)})
    assert "good" not in found
    assert made.unlikely({"good": ({"workers": 1}, Length(None, None))}) == {}


def guide_of(curves: dict[str, list[LossPoint]], lengths: dict[str, Length]) -> ForecastGuide:
    trials = {trial: {"workers": 1, "learning_rate": n / 10} for n, trial in enumerate(curves, 1)}
    return ForecastGuide(
        trials, None, "seconds", ("workers",), risk=0.01, curve_of=curves.__getitem__, shared=False, lengths=lengths
    )


def test_after_an_interrupt_curves_that_were_stopped_before_tell_as_far_as_they_came() -> None:
    curves = {f"t{n}": points_of(falling(n / 10))[: 40 if n % 2 else POINTS] for n in range(1, 9)}
    for lengths, known in (({}, 4), ({trial: Length(10 * POINTS, None) for trial in curves}, 8)):
        guide = guide_of(curves, lengths)
        guide.ordered({})
        for trial, points in curves.items():
            state = TrialState.COMPLETED if len(points) == POINTS else TrialState.PRUNED
            guide.learn([candidate(trial, points)._replace(state=state, seconds=points[-1].seconds)])
        assert len(guide._forecast._model._known) == known
        assert guide._forecast._spent == pytest.approx(4 * 0.01 / 8)  # others, as far as this guide knows, pruned them


def guide_after_ten(length: Length, place: int) -> ForecastGuide:
    """A guide that has seen ten trials of rising rates to their ends; the rate of "slow" lies at this place."""
    names = [f"t{n}" for n in range(1, 11)]
    curves = {name: points_of(falling(n / 10, 0.02, n), pace=0.1) for n, name in enumerate(names, 1)}
    ordered = [*names[:place], "slow", *names[place:]]
    guide = guide_of({name: curves.get(name, []) for name in ordered}, {"slow": length})
    for trial in names:
        guide.begin(trial, 10 * POINTS, None)
        for point in curves[trial]:
            guide.point(trial, point)
        guide.learn([candidate(trial, curves[trial])])
    return guide


def test_what_is_given_up_says_so_and_spends_of_the_risk_once() -> None:
    guide = guide_after_ten(Length(10**6, None), 5)
    ((trial, why),) = guide.given_up({"slow": {"workers": 1, "learning_rate": 0.6}}).items()
    assert trial == "slow"
    assert why.startswith("its area will be about ")
    spent = guide._forecast._spent
    guide.learn([Candidate(trial, {"workers": 1, "learning_rate": 0.6}, TrialState.PRUNED, True, None, None)])
    assert guide._forecast._spent == spent


@pytest.mark.parametrize(("place", "steps"), [(0, 10**6), (10, 10**6), (5, 49)])
def test_settings_beyond_all_that_was_seen_and_short_runs_are_never_given_up(place: int, steps: int) -> None:
    guide = guide_after_ten(Length(steps, None), place)
    assert not guide.given_up({"slow": {"workers": 1, "learning_rate": (place + 1) / 10}})
