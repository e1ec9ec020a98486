"""The forecast of a worker count from the others of a recorded sweep, beside what it came to."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from benchmarks.measure import Row, versions
from benchmarks.recorded import RecordedTrial, Sweep
from sweeper.extrapolation import CountCheck, Run, Setting, leave_one_count_out
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import summarize


def forecast_rows(sweep: Sweep, threshold: float | None) -> Iterator[Row]:
    """Relative errors of the area, of the truly best settings and of those that were predicted to be best."""
    for check in leave_one_count_out(recorded_runs(sweep), threshold):
        name = f"forecast of {check.workers} workers from {', '.join(map(str, check.others))}"
        for whose, errors in (("best", check.errors), ("predicted best", check.chosen_errors)):
            yield from _errors(f"{name}, the {len(errors)} {whose}", errors)
        yield from _coverage_and_winner(name, check)


def _errors(name: str, errors: Sequence[float]) -> Iterator[Row]:
    sizes, used = [abs(error) for error in errors], versions("scipy", "scikit-learn")
    if sizes:
        middle, worst = statistics.median(sizes), max(sizes)
        yield Row(f"{name}: median error of the area", middle, "", "", None, None, len(sizes), 0.0, used)
        yield Row(f"{name}: worst error of the area", worst, "", "", None, None, len(sizes), 0.0, used)


def _coverage_and_winner(name: str, check: CountCheck) -> Iterator[Row]:
    count, used = len(check.errors) + check.unpredicted, versions("scipy", "scikit-learn")
    yield Row(f"{name}: areas within 95 %", check.within, "", "all", count, check.within / count, count, 0.0, used)
    if check.regret is not None:
        ratio = 1 + check.regret
        yield Row(f"{name}: area of the predicted winner", ratio, "", "true winner", 1.0, ratio, 1, 0.0, used)


def recorded_runs(sweep: Sweep) -> list[Run]:
    """Recorded trials as forecasts take them."""
    return [_run(one) for one in sweep.values()]


def _run(one: RecordedTrial) -> Run:
    summary, last = summarize(one.points), one.points[-1]
    assert last.images is not None
    parameters = {name: value for name, value in one.parameters.items() if name != "workers"}
    setting = Setting(
        values=tuple(parameters.items()),
        batch_size=parameters["batch_size"],
        global_batch_size=None,
        learning_rate=parameters["learning_rate"],
        images=last.images,
    )
    return Run(
        setting=setting,
        workers=one.parameters["workers"],
        seed=0,
        state=TrialState.COMPLETED if summary.finite else TrialState.DIVERGED,
        area_steps=summary.area_steps,
        area_images=summary.area_images,
        area_seconds=summary.area_seconds,
        minimum_loss=summary.minimum_loss,
        steps=summary.steps,
        seconds=summary.seconds,
        points=summary.points,
        derived=True,
    )
