"""What parts and collectives take, by a few numbers or as measured."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace

import pytest

from engine.channel_parallel import ConvolutionShape, Ways
from engine.channel_parallel.choice import WAYS, estimate_of, parts_of, plan_of, plans_of, ways_of_layers
from engine.channel_parallel.machine import COLLECTIVES, Link, Machine, Part
from engine.channel_parallel.measure import part_of

SHAPE = ConvolutionShape(2, 4, 6, (3, 3), (8, 8), (8, 8))
# Links of 2 ranks: 1 s for up to 100 bytes, 2 s for 300, and 0.01 s for each byte from there on.
LINK = Link(2, ((100, 1.0), (300, 2.0), (400, 3.0)))


@pytest.mark.parametrize(
    ("count", "seconds"), [(0, 1.0), (100, 1.0), (200, 1.5), (300, 2.0), (350, 2.5), (400, 3.0), (1000, 9.0)]
)
def test_a_link_is_straight_between_its_points_and_beyond_the_last(count: float, seconds: float) -> None:
    assert LINK.seconds(count, 2) == pytest.approx(seconds)


def test_a_link_among_more_ranks_has_the_latency_of_each_doubling() -> None:
    assert LINK.seconds(200, 8) == pytest.approx(1.5 + 2 * 1.0)
    assert replace(LINK, ranks=4).latency_s == 0.5
    assert replace(LINK, ranks=4).seconds(200, 2) == pytest.approx(1.5 - 0.5)
    assert LINK.bytes_per_s == pytest.approx(400 / 3)


def test_three_numbers_say_what_was_not_measured() -> None:
    machine = Machine(latency_s=1.0, bytes_per_s=10.0, multiply_adds_per_s=100.0)
    assert machine.moving_s("gather", 50, 4) == 2 + 5
    assert machine.moving_s("sum", 50, 4) == 2 * 2 + 5
    assert machine.moving_s("sum", 50, 1) == 0
    part = Part(SHAPE, Ways(2, 1), 2)
    assert machine.computing_s(part) == part.multiply_adds / 100
    measured = replace(machine, parts={part: 7.0}, links={"gather": LINK})
    assert (measured.computing_s(part), measured.moving_s("gather", 300, 2)) == (7.0, 2.0)
    assert measured.moving_s("gather", 300, 1) == 0
    other = replace(part, needs_dx=False)
    assert measured.computing_s(other) == other.multiply_adds / 100
    assert measured.moving_s("scatter", 50, 4) == 2 + 5


def test_an_estimate_adds_up_measured_collectives() -> None:
    part = Part(SHAPE, Ways(2, 1))
    points = {
        name: Link(2, ((0, seconds), (1, seconds))) for name, seconds in zip(COLLECTIVES, (1, 10, 100), strict=True)
    }
    machine = Machine(math.nan, math.nan, math.nan, {part: 1000.0}, points)
    # stationary-x scatters y and gathers dL/dy.
    assert estimate_of(SHAPE, Ways(2, 1), 1, machine).seconds == 1000 + 10 + 1
    both = Part(SHAPE, Ways(1, 2), 2)
    four = replace(machine, parts={both: 0.0})
    assert estimate_of(SHAPE, Ways(1, 2), 2, four).seconds == 1 + 10 + 100


def test_a_plan_needs_exactly_the_parts_that_are_to_be_measured() -> None:
    layers = {"first": SHAPE, "second": SHAPE, "same": SHAPE, "other": replace(SHAPE, filters=5)}
    parts = parts_of(layers, 4)
    assert len(parts) == len(set(parts))
    assert [part.shape for part in parts] == sorted((part.shape for part in parts), key=[SHAPE, *layers.values()].index)
    # Two samples have grids of 1 x 4, three ways, and of 2 x 2, two; the first layer and the others differ.
    assert len(parts) == 3 * (3 + 2)
    known = Machine(1.0, 1.0, math.nan, dict.fromkeys(parts, 1.0))
    assert all(math.isfinite(plan.seconds) for plan in plans_of(layers, 4, known))
    assert math.isnan(plan_of(layers, 4, 1, known).seconds)


def test_ways_of_a_layer_are_those_of_two_grids() -> None:
    machine = Machine(latency_s=1e-6, bytes_per_s=1e8, multiply_adds_per_s=1e12)
    layers = {"a": SHAPE, "b": replace(SHAPE, filters=64)}
    plans = plans_of(layers, 2, machine)
    first, second = ways_of_layers(plans)
    assert tuple(second.estimates) == WAYS
    by_samples = estimate_of(layers["b"], Ways(1, 1), 2, machine)
    assert second.estimates["sample parallelism"] == by_samples
    assert second.estimates["stationary-y"] == estimate_of(layers["b"], Ways(1, 2), 1, machine)
    assert first.fastest == min(first.estimates, key=lambda way: first.estimates[way].seconds)
    one_sample = {"a": replace(SHAPE, samples=1)}
    assert tuple(ways_of_layers(plans_of(one_sample, 2, machine))[0].estimates) == WAYS[1:]
    alone = plans_of(layers, 1, machine)
    assert tuple(ways_of_layers(alone)[0].estimates) == WAYS[:1]
    assert set(alone[0].ways.values()) == {WAYS[0]}


def test_a_part_survives_json() -> None:
    part = Part(replace(SHAPE, stride=(2, 1), padding=(1, 0), has_bias=True), Ways(1, 2), 3, needs_dx=False)
    assert part_of(json.loads(json.dumps(asdict(part)))) == part
