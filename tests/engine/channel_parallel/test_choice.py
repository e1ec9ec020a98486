"""Which algorithm a layer gets, and which grid a network."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from torch import nn

from engine.channel_parallel import ConvolutionShape, Ways, bytes_moved
from engine.channel_parallel.choice import estimate_of, plan_of, plans_of
from engine.channel_parallel.machine import Machine
from engine.channel_parallel.shapes import shapes_of
from engine.models import make_network

SLOW_NETWORK = Machine(latency_s=1e-6, bytes_per_s=1e8, multiply_adds_per_s=1e12)
SLOW_PROCESSOR = Machine(latency_s=1e-9, bytes_per_s=1e12, multiply_adds_per_s=1e9)
EQUAL = ConvolutionShape(2, 64, 64, (3, 3), (8, 8), (8, 8))


def test_bytes_are_those_of_the_formulas() -> None:
    shape = ConvolutionShape(2, 3, 5, (2, 3), (7, 6), (4, 5), has_bias=True)
    x, y, w = 2 * 3 * 42, 2 * 5 * 20, 5 * (3 * 6 + 1)
    assert bytes_moved(shape, Ways(2, 4), 3) == {
        "gather x": 4 * 3 * x,
        "scatter y": 4 * y,
        "gather dy": 4 * y,
        "scatter dx": 4 * 3 * x,
        "sum dw": 4 * 2 * 2 * w,
    }
    assert bytes_moved(shape, Ways(2, 4), 3, element_bytes=8, needs_dx=False)["scatter dx"] == 0
    assert sum(bytes_moved(shape, Ways(1, 1)).values()) == 0


def test_a_layer_keeps_the_larger_of_input_and_output_where_it_is() -> None:
    shapes = {
        "first": EQUAL,
        "narrowing": replace(EQUAL, filters=8),
        "widening": replace(EQUAL, channels=8),
    }
    plan = plan_of(shapes, 1, 2, SLOW_NETWORK)
    assert plan.algorithms["narrowing"] == "stationary-x"
    assert plan.algorithms["widening"] == "stationary-y"
    assert plan_of({"first": EQUAL, "equal": EQUAL}, 1, 16, SLOW_NETWORK).algorithms["equal"] == "stationary-w"


def test_estimates_are_of_the_rank_with_most() -> None:
    found = estimate_of(replace(EQUAL, channels=5, samples=3), Ways(2, 2), 2, SLOW_PROCESSOR)
    assert found.multiply_adds == 3 * 2 * 3 * 32 * 9 * 64
    assert found.computing_s == found.multiply_adds / 1e9
    assert found.seconds > found.computing_s
    # Six filters on 4 ranks are 1, 2, 1 and 2; columns are every other rank, so one has 4 of them.
    uneven = estimate_of(replace(EQUAL, filters=6), Ways(2, 2), 1, SLOW_PROCESSOR)
    assert uneven.multiply_adds == 3 * 2 * 32 * 4 * 9 * 64
    assert estimate_of(EQUAL, Ways(1, 1), 1, SLOW_NETWORK).moving_s == 0


def test_the_batch_is_split_where_weights_are_few_and_channels_where_they_are_many() -> None:
    few = {"a": replace(EQUAL, samples=64, input_size=(56, 56), output_size=(56, 56))}
    many = {"a": EQUAL, "b": replace(EQUAL, samples=4, channels=4096, filters=4096, window=(1, 1))}
    assert plans_of(few, 4, SLOW_NETWORK)[0].samples == 4
    assert plans_of(many, 4, SLOW_NETWORK)[0].samples == 1
    plans = plans_of(few, 4, SLOW_NETWORK)
    assert [plan.seconds for plan in plans] == sorted(plan.seconds for plan in plans)
    assert sorted((plan.samples, plan.channels) for plan in plans) == [(1, 4), (2, 2), (4, 1)]
    assert {plan.samples for plan in plans_of({"a": replace(EQUAL, samples=1)}, 4, SLOW_NETWORK)} == {1}
    assert plan_of({}, 1, 2, SLOW_NETWORK).seconds == 0


@pytest.mark.parametrize(("name", "size"), [("resnet-20", 32), ("resnet-50", 32), ("alexnet", 64)])
def test_shapes_are_those_of_the_layers(name: str, size: int) -> None:
    network = make_network(name, (3, size, size), 10)
    found = shapes_of(network, (3, size, size), 2)
    linear = [one for one, layer in network.named_modules() if isinstance(layer, nn.Linear)]
    convolutions = [one for one, layer in network.named_modules() if isinstance(layer, nn.Conv2d)]
    assert set(found) == {*convolutions, *linear[:-1]}
    for one, shape in found.items():
        weight = network.get_submodule(one).get_parameter("weight")
        assert weight.shape[:2] == (shape.filters, shape.channels)
        assert (weight.shape[2:] or (1, 1)) == shape.window
    assert next(iter(found.values())).input_size == (size, size)
    assert not any(own.is_meta for own in network.parameters())


def test_a_shape_counts_weights_as_torch_does() -> None:
    network = nn.Sequential(nn.Conv2d(3, 4, (3, 2), stride=2), nn.Flatten(), nn.Linear(4 * 3 * 4, 5), nn.Linear(5, 2))
    found = shapes_of(network, (3, 8, 8), 3)
    assert [shape.weights for shape in found.values()] == [
        sum(own.numel() for own in network[layer].parameters()) for layer in (0, 2)
    ]
    assert found["0"].outputs == network[0](torch.zeros(3, 3, 8, 8)).numel()


def test_a_shape_is_of_the_padded_input_where_a_layer_pads_before() -> None:
    network = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1),
        nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect"),
        nn.Conv2d(4, 4, (4, 3), padding="same"),
        nn.Flatten(),
        nn.Linear(4 * 8 * 8, 2),
    )
    found = shapes_of(network, (3, 8, 8), 3)
    assert [shape.input_size for shape in found.values()] == [(8, 8), (10, 10), (11, 10)]
    assert [shape.output_size for shape in found.values()] == [(8, 8)] * 3


def test_a_shape_is_told_of_one_sample_with_maps_of_one_pixel() -> None:
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4, 2))
    assert shapes_of(network, (3, 3, 3), 1)["0"].output_size == (1, 1)
    assert network.training


def test_choosing_needs_neither_torch_nor_mpi() -> None:
    program = (
        "import sys, engine.channel_parallel.choice\n"
        "print([name for name in ('torch', 'mpi4py', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
