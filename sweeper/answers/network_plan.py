"""How workers best share a network's layers, as an answer: each grid, each layer, and the machine that it rests on."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from engine.channel_parallel.algorithms import ConvolutionShape
from engine.channel_parallel.choice import WAYS, LayerWays, NetworkPlan, parts_of, plans_of, ways_of_layers
from engine.channel_parallel.machine import Machine
from engine.config import MODELS, SPLITTABLE
from engine.errors import ModelError
from sweeper.answers.costs import usual_samples
from sweeper.errors import LaunchError
from sweeper.gangs.launcher import find_launcher
from sweeper.gangs.machine import usable_cpus
from sweeper.gangs.measuring import Measured, measure

ASSUMED = Machine(latency_s=5e-6, bytes_per_s=10e9, multiply_adds_per_s=50e9)
"""Round numbers for workers of one CPU core each and a fast network between them."""
_ALONE = "one worker sends nothing"
Source = Literal["given", "measured", "assumed"]


@dataclass(frozen=True)
class GivenMachine:
    """What a person says of the machine: seconds, bytes a second, multiply-adds a second; None where unsaid."""

    latency_s: float | None = None
    bytes_per_s: float | None = None
    multiply_adds_per_s: float | None = None


@dataclass(frozen=True)
class _Found:
    """The machine, where each of its numbers is from, and why what is unsaid was not measured."""

    machine: Machine
    sources: Mapping[str, Source]
    why_assumed: str = ""


def plan_answer(
    model: str,
    sample_shape: tuple[int, ...] | None,
    classes: int | None,
    batch: int | None,
    workers: int,
    given: GivenMachine,
) -> dict[str, Any]:
    """How so many workers best share the layers of a model; `batch` is that of all together, one for each if unsaid.

    Machine numbers that are not given are measured, on cores and never on GPUs, if there are a core for each worker and
    an mpiexec; otherwise they are assumed. "can_be_swept" says whether `trial.parallel` takes such a network, as far as
    is known.
    Grids come fastest first. Seconds are those of a step, bytes those that all workers together move in it. A way of
    sharing a layer that the workers cannot take, for want of samples, has None.

    Raises:
        FactoryError, ModelError: as `engine.costs.costs_of`, or a network with nothing to share.
        LaunchError: the machine cannot be measured although it has an mpiexec.
    """
    from engine.channel_parallel.shapes import shapes_of  # these import torch
    from engine.costs import of_network

    usual_shape, usual_classes = usual_samples(model)
    shape, classes, batch = sample_shape or usual_shape, classes or usual_classes, batch or workers
    layers = of_network(model, shape, classes, lambda network: shapes_of(network, shape, batch))
    if not layers:
        raise ModelError(
            f"MODEL: {model} has no convolutions or hidden fully connected layers to share", "choose another model"
        )
    found = _machine(layers, workers, given)
    plans = plans_of(layers, workers, found.machine)
    return {
        "model": model,
        "input": list(shape),
        "classes": classes,
        "batch_size": batch,
        "workers": workers,
        "can_be_swept": model not in MODELS or model in SPLITTABLE,
        "machine": _machine_answer(found),
        "grids": [_grid_answer(plan) for plan in plans],
        "layers": [
            _layer_answer(layers[ways.name], ways, plans[0], number)
            for number, ways in enumerate(ways_of_layers(plans))
        ],
    }


def _machine(layers: Mapping[str, ConvolutionShape], workers: int, given: GivenMachine) -> _Found:
    says = {
        "latency_s": given.latency_s,
        "bytes_per_s": given.bytes_per_s,
        "multiply_adds_per_s": given.multiply_adds_per_s,
    }
    sources: dict[str, Source] = {name: "assumed" if value is None else "given" for name, value in says.items()}
    numbers = {name: getattr(ASSUMED, name) if value is None else value for name, value in says.items()}
    unsaid = [name for name in says if says[name] is None]
    if not unsaid:
        return _Found(_made(numbers), sources)
    wants_links = workers > 1 and unsaid != ["multiply_adds_per_s"]
    why = _why_not_measured(workers)
    if not wants_links and "multiply_adds_per_s" not in unsaid:
        why = _ALONE
    if why:
        return _Found(_made(numbers), sources, why)
    parts = parts_of(layers, workers) if "multiply_adds_per_s" in unsaid else []
    measured = measure(parts, workers, links=wants_links)
    means = _means(measured)
    for name in set(unsaid) & means.keys():
        sources[name], numbers[name] = "measured", means[name]
    of_links = {sources["latency_s"], sources["bytes_per_s"]}
    links = measured.links if of_links == {"measured"} else {}
    machine = replace(_made(numbers), parts=measured.parts, links=links)
    return _Found(machine, sources, _ALONE if "assumed" in of_links else "")


def _made(numbers: Mapping[str, float]) -> Machine:
    return Machine(numbers["latency_s"], numbers["bytes_per_s"], numbers["multiply_adds_per_s"])


def _why_not_measured(workers: int) -> str:
    cores = usable_cpus()
    if workers > cores:
        return f"{workers} workers are more than the {cores} cores here"
    try:
        find_launcher()
    except LaunchError as error:
        return error.message
    return ""


def _means(measured: Measured) -> dict[str, float]:
    """What the measured comes to in three numbers, which then stand for it; only those that were measured."""
    means: dict[str, float] = {}
    if measured.links:
        means["latency_s"] = statistics.median(link.latency_s for link in measured.links.values())
        means["bytes_per_s"] = statistics.median(link.bytes_per_s for link in measured.links.values())
    if measured.parts:
        done = sum(part.multiply_adds for part in measured.parts)
        means["multiply_adds_per_s"] = done / sum(measured.parts.values())
    return means


def _machine_answer(found: _Found) -> dict[str, Any]:
    machine = found.machine
    return {
        "latency_s": machine.latency_s,
        "bytes_per_s": machine.bytes_per_s,
        "multiply_adds_per_s": machine.multiply_adds_per_s,
        "sources": dict(found.sources),
        "why_assumed": found.why_assumed or None,
        "collectives": {
            name: {"latency_s": link.latency_s, "bytes_per_s": link.bytes_per_s} for name, link in machine.links.items()
        },
    }


def _grid_answer(plan: NetworkPlan) -> dict[str, Any]:
    chosen = list(plan.ways.values())
    return {
        "samples": plan.samples,
        "channels": plan.channels,
        "seconds": plan.seconds,
        "computing_seconds": plan.computing_s,
        "moving_seconds": plan.moving_s,
        "bytes_moved": plan.bytes_moved,
        "layers": {way: chosen.count(way) for way in WAYS if way in chosen},
    }


def _layer_answer(shape: ConvolutionShape, ways: LayerWays, best: NetworkPlan, number: int) -> dict[str, Any]:
    estimate = best.layers[number].estimate
    return {
        "name": ways.name,
        "channels": shape.channels,
        "filters": shape.filters,
        "window": list(shape.window),
        "output": list(shape.output_size),
        "seconds": {way: ways.estimates[way].seconds if way in ways.estimates else None for way in WAYS},
        "fastest": ways.fastest,
        "planned": best.ways[ways.name],
        "planned_seconds": estimate.seconds,
        "bytes_moved": estimate.bytes_moved,
    }
