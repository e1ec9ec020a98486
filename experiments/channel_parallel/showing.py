"""Tables and figures of the study."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from dashboards.figures.words.numbers import measure
from engine.channel_parallel.choice import WAYS, NetworkPlan, plans_of
from engine.channel_parallel.machine import GPU
from experiments.channel_parallel.layers import KINDS
from experiments.study import Study

PASSES = ("forward", "backward")
BY_SAMPLES = WAYS[0]
WORKERS = (8, 32, 64, 128, 256, 512, 1024)
MODEL, SAMPLE_SHAPE, CLASSES, BATCH = "resnet-50", (3, 224, 224), 1000, 256
_NONE = "–"


@dataclass(frozen=True)
class Timed:
    """A layer divided in one way among so many ranks at a place: seconds of each round, by pass."""

    place: str
    layer: str
    scaling: str
    way: str
    workers: int
    samples: int
    seconds: dict[str, tuple[float, ...]]

    def typical(self, which: str) -> float:
        """The median of a pass."""
        return median(self.seconds[which])


def show(study: Study) -> None:
    """Make all of them."""
    from experiments.channel_parallel.drawing import draw_speedups

    found = read_all(study)
    study.table("passes", *_passes(found))
    study.table("plans", *_plans())
    study.table("hardware", *_hardware(study, found))
    for place in dict.fromkeys(one.place for one in found):
        study.figure(
            f"speedups-{place}", draw_speedups(place_name(place), [one for one in found if one.place == place])
        )


def read_all(study: Study) -> list[Timed]:
    """All that is recorded: on cores, then on GPUs by their number."""
    recorded = {path.stem for path in (study.into / "result").glob("*.json")}
    places = sorted(recorded, key=lambda place: (place != "cpu", len(place), place))
    return [_timed(place, row) for place in places for row in study.measured(place)]


def _timed(place: str, row: dict[str, Any]) -> Timed:
    seconds = {which: tuple(row[which]) for which in PASSES}
    return Timed(place, row["layer"], row["scaling"], row["way"], row["workers"], row["samples"], seconds)


def place_name(place: str) -> str:
    """As people read it."""
    return "CPU" if place == "cpu" else place.replace("-gpus", " GPUs").replace("gpu", "GPU")


def alone(found: Sequence[Timed], one: Timed) -> Timed:
    """The same layer on one rank."""
    return next(
        other
        for other in found
        if (other.place, other.layer, other.scaling, other.workers) == (one.place, one.layer, one.scaling, 1)
    )


def speedup(found: Sequence[Timed], one: Timed, which: str) -> float:
    """How many times as many samples a second as one rank a pass computes."""
    base = alone(found, one)
    return (one.samples / one.typical(which)) / (base.samples / base.typical(which))


def _passes(found: Sequence[Timed]) -> tuple[list[str], list[list[str]]]:
    header = ["ranks on", "layer", "scaling", "ranks", "samples", "pass", *WAYS, "fastest"]
    rows = []
    settings = dict.fromkeys((one.place, one.layer, one.scaling, one.workers) for one in found)
    for place, layer, scaling, workers in sorted(
        settings, key=lambda one: (one[0], one[1], KINDS.index(one[2]), one[3])
    ):
        here = {
            one.way: one
            for one in found
            if (one.place, one.layer, one.scaling, one.workers) == (place, layer, scaling, workers)
        }
        first = next(iter(here.values()))
        for which in PASSES:
            cells = [_cell(found, here.get(way), which) for way in WAYS]
            best = min(here.values(), key=lambda one: one.typical(which)).way if workers > 1 else _NONE
            rows.append([place_name(place), layer, scaling, f"{workers}", f"{first.samples}", which, *cells, best])
    return header, rows


def _cell(found: Sequence[Timed], one: Timed | None, which: str) -> str:
    if one is None:
        return _NONE
    half = 50 * (max(one.seconds[which]) - min(one.seconds[which])) / one.typical(which)
    gain = "" if one.workers == 1 else f", {speedup(found, one, which):.2f}"
    return f"{measure(1e3 * one.typical(which))} ms ± {half:.0f} %{gain}"


@functools.cache
def plans() -> dict[int, list[NetworkPlan]]:
    """Of ResNet-50 for each of `WORKERS` on assumed GPUs, the fastest grid first."""
    import torch

    from engine.channel_parallel.shapes import shapes_of
    from engine.models import make_network

    with torch.device("meta"):
        network = make_network(MODEL, SAMPLE_SHAPE, CLASSES)
    shapes = shapes_of(network, SAMPLE_SHAPE, BATCH)
    return {workers: plans_of(shapes, workers, GPU) for workers in WORKERS}


def _plans() -> tuple[list[str], list[list[str]]]:
    header = ["workers", "samples x channels", "step, ms", "of which sending", "by samples alone, ms", "layers by"]
    return header, [_plan_row(workers, found) for workers, found in plans().items()]


def _plan_row(workers: int, found: Sequence[NetworkPlan]) -> list[str]:
    best = found[0]
    by_samples = next((plan for plan in found if plan.channels == 1), None)
    ways = list(best.ways.values())
    counted = ", ".join(f"{ways.count(way)} {way}" for way in WAYS if way in ways)
    other = measure(1e3 * by_samples.seconds) if by_samples else _NONE
    step = measure(1e3 * best.seconds)
    return [
        f"{workers}",
        f"{best.samples} x {best.channels}",
        step,
        f"{best.moving_s / best.seconds:.0%}",
        other,
        counted,
    ]


def _hardware(study: Study, found: Sequence[Timed]) -> tuple[list[str], list[list[str]]]:
    rows = []
    for place in dict.fromkeys(one.place for one in found):
        first = study.measured(place)[0]
        used = ", ".join(f"{name} {version}" for name, version in first["versions"].items())
        rows.append([place_name(place), first["hardware"], f"{len(first['forward'])}", used])
    return ["ranks on", "hardware", "rounds of each figure", "versions"], rows


def panels(found: Sequence[Timed]) -> Iterator[tuple[str, str, str]]:
    """Layer, scaling and pass of each panel of a figure, row by row."""
    for scaling in KINDS:
        for layer in dict.fromkeys(one.layer for one in found):
            for which in PASSES:
                yield layer, scaling, which
