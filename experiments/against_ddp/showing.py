"""Tables and figures of the study: the engine's runs beside DDP's with the same settings and seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from dashboards.figures.words.numbers import measure
from experiments.study import Study
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint
from sweeper.store import TrialRecord

PLACES = {"cpu": "CPU, two cores", "gpu": "one H200"}
RIVALS = {"eager": "eager DDP", "compiled": "compiled DDP"}
LEVELS = {"cpu": 1.2, "gpu": 1.95}  # losses that a curve is timed to
Setting = tuple[int, int, float]  # workers, batch size, rate


@dataclass(frozen=True)
class Run:
    """A completed trial with its curve."""

    trial: TrialRecord
    points: Sequence[LossPoint]

    @property
    def pace(self) -> float:
        """Images a second."""
        return (self.trial.images or 0) / (self.trial.seconds or 1.0)

    def seconds_to(self, loss: float) -> float | None:
        """Seconds at the first point whose loss is at most this; None where none is."""
        return next((point.seconds for point in self.points if point.loss <= loss), None)


Runs = Mapping[Setting, Sequence[Run]]


def show(study: Study) -> None:
    """Make all of them from what is recorded."""
    found = read_runs(study)
    for place in PLACES:
        if ours := found.get(f"ours-{place}"):
            study.table(place, *_beside(place, ours, found))
    _draw(study, found)


def read_runs(study: Study) -> dict[str, dict[Setting, list[Run]]]:
    """The completed trials of each recorded sweep by their setting, one for each seed."""
    with study.reading() as store:
        found: dict[str, dict[Setting, list[Run]]] = {}
        for sweep in store.sweeps.all():
            runs = found.setdefault(sweep.name, {})
            for trial in store.trials.of(sweep.id, [TrialState.COMPLETED]):
                setting = (trial.workers, trial.parameters["batch_size"], trial.parameters["learning_rate"])
                runs.setdefault(setting, []).append(Run(trial, store.attempts.points(trial.id, trial.attempt)))
        return found


def _beside(place: str, ours: Runs, found: Mapping[str, Runs]) -> tuple[list[str], list[list[object]]]:
    level = LEVELS[place]
    header = ["workers", "batch/rate", "trained by", "runs", "images/s", "area, loss x s", f"seconds to loss {level:g}"]
    header += ["last loss", "the engine's images/s over the rival's"]
    rows: list[list[object]] = []
    for setting in sorted(ours):
        rows.append(_row(setting, "the engine", ours[setting], level, None))
        for how, name in RIVALS.items():
            if theirs := found.get(f"{how}-{place}", {}).get(setting):
                rows.append(_row(setting, name, theirs, level, ours[setting]))
    return header, rows


def _row(setting: Setting, name: str, runs: Sequence[Run], level: float, ours: Sequence[Run] | None) -> list[object]:
    workers, batch, rate = setting
    paces = [run.pace for run in runs]
    spread = f" (± {50 * (max(paces) - min(paces)) / median(paces):.0f} %)" if len(runs) > 1 else ""
    reached = [seconds for run in runs if (seconds := run.seconds_to(level)) is not None]
    area = median(run.trial.area_seconds or 0.0 for run in runs)
    times = measure(median(reached)) if len(reached) == len(runs) else "–"
    row: list[object] = [workers, f"{batch}/{rate:g}", name, len(runs), f"{median(paces):,.0f}{spread}", measure(area)]
    faster = "" if ours is None else f"{ratio(ours, runs):.2f}"
    return [*row, times, f"{median(run.trial.final_loss or 0.0 for run in runs):.3f}", faster]


def ratio(ours: Sequence[Run], theirs: Sequence[Run]) -> float:
    """How many times as many images a second ours trains, by medians."""
    return median(run.pace for run in ours) / median(run.pace for run in theirs)


def _draw(study: Study, found: Mapping[str, Runs]) -> None:
    from experiments.against_ddp.drawing import draw_curves

    for place, name in PLACES.items():
        ours = found.get(f"ours-{place}", {})
        if ours:
            rivals = {label: found.get(f"{how}-{place}", {}) for how, label in RIVALS.items()}
            study.figure(f"curves-{place}", draw_curves(name, ours, rivals, LEVELS[place]))
