"""Tables and figures of the study."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from experiments.batch_augmentation.recorded import GOAL, Run, read_runs
from experiments.intervals import with_interval
from experiments.study import Study
from sweeper.ranking.confidence import interval

LEVELS = (0.12, 0.10, 0.08, GOAL)  # errors


def show(study: Study) -> None:
    """Make all of them from what is recorded."""
    from experiments.batch_augmentation.drawing import draw_errors
    from experiments.batch_augmentation.pictures import draw_pictures

    if study.has_sweeps:
        runs = read_runs(study)
        study.table("instances", *_instances([run for run in runs if run.seed == 0]))
        study.table("seeds", *_seeds(runs))
        study.figure("error", draw_errors([run for run in runs if run.seed == 0 and run.evaluations]))
    if pictures := draw_pictures():
        study.figure("cutout", pictures)


def _instances(runs: Sequence[Run]) -> tuple[list[str], list[list[object]]]:
    header = ["augmentation", "M", "pictures a step", "seconds an epoch", "epochs", "error", "lowest"]
    header += [f"epochs / seconds to {percent(level)}" for level in LEVELS]
    return [*header, "seconds in all"], [_row(run) for run in runs]


def _row(run: Run) -> list[object]:
    at = [_reached(run, level) for level in LEVELS]
    errors = [error for _, _, error in run.errors]
    last, lowest = (percent(errors[-1]), percent(min(errors))) if errors else ("–", "–")
    seconds = run.trial.seconds or 0.0
    each = f"{seconds / run.epochs:.2f}" if run.epochs else "–"
    return [run.words, run.instances, run.pictures, each, f"{run.epochs:g}", last, lowest, *at, f"{seconds:.3g}"]


def _reached(run: Run, level: float) -> str:
    """Epochs and seconds to an error."""
    reached = run.first_at(level)
    return "–" if reached is None else f"{round(reached[0], 1):g} / {reached[1]:.3g}"


def _seeds(runs: Sequence[Run]) -> tuple[list[str], list[list[object]]]:
    """Settings with several seeds: epochs to each level, where all of them come to it."""
    alike: dict[tuple[int, int], list[Run]] = {}
    for run in runs:
        alike.setdefault((run.cutout, run.instances), []).append(run)
    header = ["M", "seeds", *(f"epochs to {percent(level)}" for level in LEVELS), "error at the end"]
    rows = []
    for (_, instances), ones in sorted(alike.items()):
        if len(ones) > 1:
            epochs = [_epochs(ones, level) for level in LEVELS]
            ends = [100 * one.errors[-1][2] for one in ones if one.errors]
            end = with_interval(fmean(ends), interval(ends), "{:.2f}".format, " %") if ends else "–"
            rows.append([instances, len(ones), *epochs, end])
    return header, rows


def _epochs(runs: Sequence[Run], level: float) -> str:
    found = [reached[0] for run in runs if (reached := run.first_at(level))]
    if len(found) < len(runs):
        return f"{len(found)} of {len(runs)} come to it"
    return with_interval(fmean(found), interval(found), "{:.1f}".format)


def percent(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.4g} %"
