"""Tables and figures of the study."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from dashboards.figures.words.numbers import measure
from experiments.best_per_worker.recorded import GOAL, PUBLISHED, Run, mean_accuracy, read_runs
from experiments.intervals import with_interval
from experiments.study import Study
from sweeper.ranking.confidence import interval

_SWEEPS = ("published", "ours")


def show(study: Study) -> None:
    """Make all of them from what is recorded."""
    runs = read_runs(study)
    study.table("winners", *_winners(runs))
    for name in ("recipe", "longest"):
        if runs.get(name):
            study.table(name, *_seeds(runs[name]))
    _draw(study, runs)


def _winners(runs: dict[str, list[Run]]) -> tuple[list[str], list[list[object]]]:
    header = ["setting of", "workers", "batch/rate", "shared a GPU", "end", "area, loss x s", "seconds", "cost, $"]
    header += ["last accuracy", "highest", "the paper's"]
    return header, [_winner(name, run) for name in _SWEEPS for run in runs.get(name, ())]


def _winner(name: str, run: Run) -> list[object]:
    trial = run.trial
    setting = f"{trial.parameters['batch_size']}/{trial.parameters['learning_rate']:g}"
    seconds = trial.seconds or 0.0
    area = "–" if trial.area_seconds is None else measure(trial.area_seconds)
    cost = "–" if run.dollars is None else f"{run.dollars:.4f}"
    accuracy, took = PUBLISHED.get(trial.workers, (None, 0.0))
    paper = "–" if accuracy is None or name != "published" else f"{_percent(accuracy)} in {took:g} s"
    whose = {"published": "the paper", "ours": "our grid"}[name]
    highest = run.best and f"{_percent(run.best.accuracy)} at {run.best.seconds:.1f} s"
    shared = "yes" if trial.oversubscribed else "no"
    row = [whose, trial.workers, setting, shared, run.end, area, f"{seconds:.2f}", cost]
    return [*row, _percent(run.last), highest or "–", paper]


def _seeds(runs: Sequence[Run]) -> tuple[list[str], list[list[object]]]:
    header = ["seed", "images", "seconds", "accuracy", f"first test at {_percent(GOAL)} or more, s"]
    rows = [[run.seed, f"{run.trial.images:,}", f"{run.trial.seconds:.2f}", *_reached(run)] for run in runs]
    seconds, accuracies = [run.trial.seconds or 0.0 for run in runs], [100 * (run.last or 0.0) for run in runs]
    first = next((at for at, accuracy in mean_accuracy(runs) if accuracy >= GOAL), None)
    mean = ["mean, 95 % interval", "", _interval(seconds, " s"), _interval(accuracies, " %")]
    return header, [*rows, [*mean, "–" if first is None else f"{first:.2f} (of the mean)"]]


def _reached(run: Run) -> list[str]:
    at = run.first_at(GOAL)
    return [_percent(run.last), "–" if at is None else f"{at:.2f}"]


def _interval(values: Sequence[float], unit: str) -> str:
    return with_interval(fmean(values), interval(values), "{:.2f}".format, unit)


def _percent(accuracy: float | None) -> str:
    return "–" if accuracy is None else f"{100 * accuracy:.2f} %"


def _draw(study: Study, runs: dict[str, list[Run]]) -> None:
    from experiments.best_per_worker.drawing import draw_accuracies, draw_published_accuracy, draw_published_loss

    published = [run for run in runs.get("published", ()) if run.evaluations]
    if published:
        study.figure("published-loss", draw_published_loss(published))
        study.figure("published-accuracy", draw_published_accuracy(published))
    study.figure("accuracy-over-time", draw_accuracies(runs))
