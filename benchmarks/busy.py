"""How busy a sweep keeps its machine: what each gang's time goes into, on GPUs where there are some, else on cores.

`--figure FILE` draws the first sweep's timeline, `--keep FOLDER` keeps the stores, `--only PART` measures one part.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil

from benchmarks.measure import Row, add_arguments, hardware, report, spread, versions
from dashboards.plot import draw_figure
from sweeper.answers.best import best_answer
from sweeper.answers.timeline import SET_UP, START, Timeline, timeline
from sweeper.execution import Execution, prepare_sweep, run_sweep
from sweeper.gangs.machine import gpu_uuids, local_gpus, usable_cpus
from sweeper.live_view import silent
from sweeper.spec import parse_spec
from sweeper.store import AttemptSpan, Store, open_store

PARTS = ("grid", "forecast", "memory")
_RATES = [round(0.1 * place, 1) for place in range(1, 10)]
# The paper's sizes and rates, on CIFAR-10; on cores a network and data that train in about a second.
_ON_GPUS = {
    "trial": {"model": "alexnet-cifar", "data": "cifar10", "images": 307_200},
    "space": {"batch_size": [16, 32, 64, 128, 256, 512], "learning_rate": _RATES},
    "resources": {"gpus_per_worker": 1},
    "threshold": 1.8,
}
_ON_CORES = {
    "trial": {"model": "mlp", "data": "digits", "images": 40_000},
    "space": {"batch_size": [16, 32, 64], "learning_rate": _RATES[:6]},
    "resources": {},
    "threshold": 0.5,
}
_QUICK = {"trial": {"model": "mlp", "data": "digits", "images": 4_000}, "space": {"learning_rate": _RATES[:3]}}
_ROUNDS = 42  # through all shapes, the last of which must hold no more memory than the first
_SHAPES = [16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768]
_STEPS = 4


@dataclass(frozen=True)
class Swept:
    """What a sweep came to: its timeline, each attempt's times, and its winners by worker count.

    `shapes` are the batch sizes by trial, `areas` those over seconds by parameters.
    """

    time: Timeline
    spans: Sequence[AttemptSpan]
    winners: dict[Any, dict[str, Any] | None]
    areas: dict[str, float | None]
    shapes: dict[str, Any]

    @property
    def trained(self) -> float:
        """Seconds of training of all seats together."""
        return self.time.busy * self.time.seats * self.time.seconds


def swept(folder: Path, name: str, workers: Sequence[int], base: dict[str, Any], **changes: Any) -> Swept:
    """Run a sweep of that kind on a store in `folder`, called by its name."""
    spec = parse_spec(
        {
            "name": name,
            "trial": base["trial"],
            "space": {**base["space"], "workers": list(workers)},
            "resources": base.get("resources", {}),
            "objective": {"threshold": base.get("threshold")},
            **changes,
        }
    )
    execution = Execution("local", None, finish_running=False, oversubscribe=False)
    with (
        patch.dict(os.environ, {"SWEEPER_LOGS": str(folder / "logs")}),
        closing(open_store(f"sqlite:///{folder}/{name}.db")) as store,
    ):
        sweep = run_sweep(store, prepare_sweep(spec, execution), execution, silent(), again=True)
        return _swept(store, sweep.id)


def _swept(store: Store, sweep_id: str) -> Swept:
    time = timeline(store, sweep_id)
    if time is None:
        raise SystemExit(f"no trial of sweep {sweep_id} had a gang")
    groups = best_answer(store, sweep_id)["groups"]
    winners = {group["group"]["workers"]: group["winner"] for group in groups}
    trials = store.trials.of(sweep_id)
    areas = {_setting(trial.parameters): trial.area_seconds for trial in trials}
    shapes = {trial.id: trial.parameters.get("batch_size") for trial in trials}
    return Swept(time, store.attempts.spans(sweep_id), winners, areas, shapes)


def _setting(parameters: dict[str, Any]) -> str:
    return repr(sorted(parameters.items()))


def grid_rows(name: str, grid: Swept, machine: str) -> Iterator[Row]:
    """Of a whole grid: the share of training, starts of gangs, and set-ups, first ones and later ones."""
    used, time = versions("torch"), grid.time

    def row(what: str, value: float, unit: str, n: int, of: Sequence[float] = ()) -> Row:
        around = spread(of) if len(of) > 1 and statistics.median(of) else 0.0
        return Row(f"{name}: {what}", value, unit, "", None, None, n, around, used, hardware=machine)

    yield row("wall time, first gang's start to last end", time.seconds, "s", 1)
    yield row(f"share of it in which {time.seats} seats trained", time.busy, "", 1)
    yield row("training of all seats", grid.trained, "s", len(grid.spans))
    firsts: dict[str, float] = {}
    for gang in time.gangs:
        cold = [part for part in gang.parts if part.trial == gang.parts[0].trial and part.name in (START, SET_UP)]
        firsts[gang.gang] = sum(part.end - part.begin for part in cold)
    cold_starts = list(firsts.values())
    yield row("a gang's start to its first step", statistics.median(cold_starts), "s", len(cold_starts), cold_starts)
    later = [1e3 * span.setup for span in _later(grid) if span.setup is not None]
    if later:
        yield row("set-up of a trial whose shape its gang has had", statistics.median(later), "ms", len(later), later)
    turns = [1e3 * turn for gang in time.gangs for turn in _turn_rounds(gang.parts)]
    if turns:
        yield row("end of a trial to its gang's next set-up", statistics.median(turns), "ms", len(turns), turns)


def _later(grid: Swept) -> list[AttemptSpan]:
    """Attempts whose gang had trained one of their batch size before: in these sweeps the shape."""
    seen: set[tuple[str, str]] = set()
    found = []
    for span in grid.spans:
        key = (span.gang_id, grid.shapes[span.trial_id])
        if key in seen:
            found.append(span)
        seen.add(key)
    return found


def _turn_rounds(parts: Sequence[Any]) -> Iterator[float]:
    ends: dict[str, float] = {}
    order = list(dict.fromkeys(part.trial for part in parts))
    begins: dict[str, float] = {}
    for part in parts:
        begins.setdefault(part.trial, part.begin)
        ends[part.trial] = part.end
    for before, after in itertools.pairwise(order):
        yield max(0.0, begins[after] - ends[before])


def pruned_rows(name: str, pruned: Swept, grid: Swept, machine: str) -> Iterator[Row]:
    """Of a pruned sweep: wall time and training beside the grid's, and how good its winners are in the grid."""
    used, n = versions("torch"), len(pruned.spans)
    for what, value, baseline in (
        ("wall time", pruned.time.seconds, grid.time.seconds),
        ("training", pruned.trained, grid.trained),
    ):
        yield Row(f"{name}: {what}", value, "s", "the grid", baseline, value / baseline, n, 0.0, used, hardware=machine)
    for workers, winner in pruned.winners.items():
        best = grid.winners.get(workers)
        area = grid.areas.get(_setting(winner["parameters"])) if winner else None
        if best and area is not None:
            what = f"{name}: area of the winner of {workers} workers, in the grid"
            yield Row(what, area, "", "the grid's winner", best["area"], area / best["area"], 1, 0.0, used, machine)


def memory_row(base: dict[str, Any], machine: str) -> Row:
    """Memory that one gang holds after its first round through 12 shapes, and after the last."""
    from mpi4py import MPI

    from engine.config import TrainingConfig
    from engine.kept import Kept
    from engine.trainer import train

    kept, held = Kept(MPI.COMM_SELF), []
    for turn in range(_ROUNDS):
        for batch in _SHAPES:
            changes = {"batch_size": batch, "images": _STEPS * batch, "seed": turn}
            config = TrainingConfig.model_validate({**base["trial"], **changes})
            train("memory", config, MPI.COMM_SELF, lambda _: None, kept=kept)
        held.append(_held_mib())
    what, n = f"memory held after {_ROUNDS} rounds of {len(_SHAPES)} shapes", _ROUNDS * len(_SHAPES)
    return Row(what, held[-1], "MiB", "after one", held[0], held[-1] / held[0], n, 0.0, versions("torch"), machine)


def _held_mib() -> float:
    """What this process holds on the GPU, as the driver counts it; without one, of the host's memory."""
    import torch

    if torch.cuda.is_available():
        free, total = torch.cuda.mem_get_info()
        return (total - free) / 2**20
    return psutil.Process().memory_info().rss / 2**20


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--figure", help="draw the grid's timeline into this file")
    parser.add_argument("--keep", type=Path, help="keep the stores in this folder")
    parser.add_argument("--only", choices=PARTS, action="append", help="measure these parts; default: all")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        report(rows(folder, given.only or PARTS, given.figure, quick=given.quick), given.json)


def rows(folder: Path, parts: Sequence[str], figure: str | None, *, quick: bool) -> Iterator[Row]:
    """Of each part that is asked for; without the grid a pruned sweep has nothing beside it."""
    gpus = local_gpus()
    machine = f"{hardware()}, {len(gpus)} GPUs {' '.join(gpu_uuids(gpus))}".strip()
    base = _QUICK if quick else _ON_GPUS if gpus else _ON_CORES
    seats = len(gpus) or usable_cpus()
    workers = [count for count in (1, 2, 4) if count <= seats]
    grid = swept(folder, "grid", workers, base) if {"grid", "forecast"} & {*parts} else None
    if grid:
        yield from grid_rows("grid", grid, machine)
    if figure:
        with closing(open_store(f"sqlite:///{folder}/grid.db")) as store:
            draw_figure(store, "latest", "timeline").savefig(figure)
    if grid and "forecast" in parts and not quick:
        reuse = "equivalent" if len(workers) > 1 else "none"
        pruned = swept(folder, "forecast", workers, base, prune="forecast", reuse=reuse)
        yield from pruned_rows(f"prune: forecast, reuse: {reuse}", pruned, grid, machine)
    if "memory" in parts and not quick:
        yield memory_row(base, machine)


if __name__ == "__main__":
    main()
