"""A network split over channels and filters learns what it learns in one process."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from engine.channel_parallel import ALGORITHMS, Algorithm, Machine, ProcessGrid, split_network, whole_tensors
from engine.channel_parallel.choice import plan_of
from engine.channel_parallel.shapes import shapes_of
from engine.channel_parallel.split_layer import SplitLayer
from engine.errors import ModelError
from engine.models import make_network
from tests.parallel.channel_parallel.grids import SAMPLES, WORLD, cuts_of, grid_of, own_samples

pytestmark = pytest.mark.parallel
BATCH, CLASSES = 6, 10


def built_in(name: str, size: int) -> nn.Module:
    torch.manual_seed(3)
    return make_network(name, (3, size, size), CLASSES).double()


def stack() -> nn.Module:
    """Layers of kinds that the built-in networks lack, with fewer channels than ranks in places."""
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Conv2d(3, 2, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(2, momentum=None),
        nn.ReLU(inplace=True),
        nn.AvgPool2d(3, 2, padding=1),
        nn.Dropout(0.25),
        nn.Conv2d(2, 5, (3, 2), dilation=(1, 2)),
        nn.BatchNorm2d(5, affine=False, track_running_stats=False),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.5),
        nn.Linear(20, 7),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(7, CLASSES),
    ).double()


def flattened() -> nn.Module:
    """A stack whose features are dropped between the flattening and the scores, some ranks having no channels."""
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Conv2d(3, 2, 3, padding=1, padding_mode="reflect"),
        nn.AdaptiveMaxPool2d(3),
        nn.Flatten(),
        nn.Sigmoid(),
        nn.Dropout(0.25),
        nn.Dropout(0.5),
        nn.Linear(18, CLASSES),
    ).double()


def pictures(size: int) -> tuple[Tensor, Tensor]:
    torch.manual_seed(4)
    return torch.randn(BATCH, 3, size, size, dtype=torch.float64), torch.randint(CLASSES, (BATCH,))


def loss_of(network: nn.Module, samples: Tensor, targets: Tensor) -> Tensor:
    torch.manual_seed(5)  # of dropout
    loss = F.cross_entropy(network(samples), targets, reduction="sum") / BATCH
    torch.autograd.backward(loss)
    return loss.detach()


def steps_are_the_same(network: nn.Module, size: int, grid: ProcessGrid, algorithm: Algorithm) -> None:
    """The loss of a batch, every part of each gradient, and the running statistics; then the scores in evaluation."""
    samples, targets = pictures(size)
    rows = own_samples(grid, BATCH)
    split = split_network(deepcopy(network), grid, algorithm)
    whole = deepcopy(network)
    expected = loss_of(whole, samples, targets)
    loss = loss_of(split, samples[rows], targets[rows])
    # Each row's loss is on all of its ranks.
    assert WORLD.allreduce(loss.item()) / grid.channels == pytest.approx(expected.item(), rel=1e-12)
    count = 0
    for name, layer in split.network.named_modules():
        if not isinstance(layer, SplitLayer):
            continue
        for own, held in layer.held.items():
            tensor, of_whole = getattr(layer, own), getattr(whole.get_submodule(name), own)
            assert torch.allclose(tensor, held.part_of(of_whole), rtol=1e-9, atol=1e-11), (name, own)
            if isinstance(tensor, nn.Parameter) and tensor.numel():
                assert tensor.grad is not None
                assert torch.allclose(tensor.grad, held.part_of(of_whole.grad), rtol=1e-8, atol=1e-10), (name, own)
                count += 1
    assert count
    with torch.no_grad():
        assert torch.allclose(split.eval()(samples[rows]), whole.eval()(samples)[rows], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("samples", SAMPLES)
def test_a_step_of_resnet_20_is_that_of_one_process_on_every_grid(samples: int) -> None:
    network = built_in("resnet-20", 8)
    for algorithm in ALGORITHMS:
        steps_are_the_same(network, 8, grid_of(samples), algorithm)


@pytest.mark.parametrize(
    ("make", "size"),
    [(lambda: built_in("alexnet", 16), 16), (stack, 15), (flattened, 7)],
    ids=["alexnet", "stack", "flattened"],
)
def test_so_are_those_of_other_networks(make: Callable[[], nn.Module], size: int) -> None:
    network = make()
    for number, samples in enumerate(SAMPLES):
        steps_are_the_same(network, size, grid_of(samples), ALGORITHMS[number % len(ALGORITHMS)])


@pytest.mark.parametrize(("name", "size"), [("resnet-50", 8), ("vgg11-plain", 32), ("alexnet", 64)])
@pytest.mark.long
def test_so_are_those_of_large_networks(name: str, size: int) -> None:
    network = built_in(name, size)
    for number, samples in enumerate(SAMPLES):
        steps_are_the_same(network, size, grid_of(samples), ALGORITHMS[number % len(ALGORITHMS)])


def test_the_parts_make_the_whole_again() -> None:
    network, grid = built_in("resnet-20", 8), grid_of(SAMPLES[-1])
    for samples in SAMPLES:
        grid = grid_of(samples)
        split = split_network(deepcopy(network), grid, "stationary-w")
        found = whole_tensors(split.network, grid)
        expected = network.state_dict()
        assert found.keys() == expected.keys()
        assert all(torch.equal(found[name], expected[name]) for name in expected)
    assert whole_tensors(split.network, grid, lambda own: own.grad) == {}
    batch, targets = pictures(8)
    rows = own_samples(grid, BATCH)
    loss_of(split, batch[rows], targets[rows])
    loss_of(network, batch, targets)
    gradients = whole_tensors(split.network, grid, lambda own: own.grad)
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None
        assert torch.allclose(gradients[name], parameter.grad, rtol=1e-8, atol=1e-10), name


def test_each_layer_may_have_an_algorithm_of_its_own() -> None:
    network, grid = stack(), grid_of(1)
    chosen: dict[str, Algorithm] = {"0": "stationary-y", "5": "stationary-x", "10": "stationary-w"}
    split = split_network(deepcopy(network), grid, chosen)
    samples, targets = pictures(15)
    assert loss_of(split, samples, targets).item() == pytest.approx(
        loss_of(network, samples, targets).item(), rel=1e-12
    )
    with pytest.raises(
        ModelError, match="algorithm: names none for layer '5'; give one for each layer, or one for all"
    ):
        split_network(stack(), grid, {"0": "stationary-y"})


def test_a_plan_can_be_followed() -> None:
    network, grid = built_in("resnet-20", 8), grid_of(1)
    machine = Machine(latency_s=1e-5, bytes_per_s=1e9, multiply_adds_per_s=1e10)
    plan = plan_of(shapes_of(network, (3, 8, 8), BATCH), grid.samples, grid.channels, machine)
    split = split_network(deepcopy(network), grid, plan.algorithms)
    samples, targets = pictures(8)
    grid.traffic.bytes.clear()
    assert loss_of(split, samples, targets).item() == pytest.approx(
        loss_of(network, samples, targets).item(), rel=1e-12
    )
    of_layers = sum(number for transfer, number in grid.traffic.bytes.items() if transfer != "layers")
    # The plan counts 4 bytes a number, and pictures get no gradient.
    assert WORLD.allreduce(of_layers) == 2 * plan.bytes_moved


def test_a_step_in_float32_is_the_same_within_rounding() -> None:
    network = built_in("resnet-20", 8).float()
    samples, targets = pictures(8)
    for rows in SAMPLES:
        grid = grid_of(rows)
        split = split_network(deepcopy(network), grid, cuts_of(rows)[-1][0])
        own = own_samples(grid, BATCH)
        loss = loss_of(split, samples[own].float(), targets[own])
        expected = loss_of(deepcopy(network), samples.float(), targets)
        assert WORLD.allreduce(loss.item()) / grid.channels == pytest.approx(expected.item(), rel=1e-5)


def test_networks_that_cannot_be_split_are_refused() -> None:
    grid = grid_of(1)
    with pytest.raises(
        ModelError, match=r"model: layer 'MODEL' \(GoogLeNet\) cannot be split over channels; use a ResNet"
    ):
        split_network(make_network("googlenet", (3, 32, 32), CLASSES), grid)
    with pytest.raises(ModelError, match=r"model: layer '1' \(LayerNorm\) cannot be split"):
        split_network(nn.Sequential(nn.Conv2d(3, 4, 1), nn.LayerNorm([4, 8, 8]), nn.Linear(256, 2)), grid)
    shared = nn.Dropout(0.5)
    refusals: list[tuple[str, list[nn.Module]]] = [
        (
            r"layer '2' \(Linear\) takes 250 features, which 4 channels do not come to; use a ResNet",
            [nn.Flatten(), nn.Linear(250, 2)],
        ),
        (r"layer '1' \(Linear\) gets maps that are not flattened; put an nn.Flatten\(\) before it", [nn.Linear(8, 2)]),
        (r"layer '1' \(Flatten\) does not flatten each sample as a whole; use nn.F", [nn.Flatten(2), nn.Linear(64, 2)]),
        (r"layer '2' \(Dropout\) stands in two places; make a layer of its own", [shared, shared, nn.Flatten()]),
        (r"layer '2' \(ReLU\) is the last one, and only an nn.Linear gives scores; end", [nn.Flatten(), nn.ReLU()]),
        (
            r"layer '4' \(Dropout\) comes after '2', which gives the scores; leave it out",
            [nn.Flatten(), nn.Linear(256, 2), nn.ReLU(), nn.Dropout(0.5)],
        ),
    ]
    for refusal, layers in refusals:
        with pytest.raises(ModelError, match=f"model: {refusal}"):
            split_network(nn.Sequential(nn.Conv2d(3, 4, 1), *layers), grid)
    early: tuple[nn.Module, ...] = (nn.Dropout(0.5), nn.Linear(8, 8))
    for layer in early:
        with pytest.raises(ModelError, match=r"layer '0' \(\w+\) comes before the first convolution; use a ResNet"):
            split_network(nn.Sequential(layer, nn.Conv2d(3, 4, 1), nn.Flatten(), nn.Linear(256, 2)), grid)


def test_pictures_with_other_channels_are_refused_on_every_rank() -> None:
    for samples in SAMPLES:
        split = split_network(stack(), grid_of(samples))
        for channels in (1, 4):
            wrong = torch.zeros(2, channels, 15, 15, dtype=torch.float64)
            with pytest.raises(
                ModelError, match=f"pictures: have {channels} channels, and the network takes 3; give it pictures w"
            ):
                split(wrong)
