"""What networks cost, beside counts of real forward passes on the CPU and published totals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from engine.config import MODELS
from engine.costs import Costs, costs_of, costs_of_module
from engine.errors import ModelError
from engine.factories import FactoryError
from engine.models import make_network

BATCH = 2
SMALL = {"neuron": (1,)}


def shape_of(name: str) -> tuple[int, ...]:
    return SMALL.get(name, (3, 32, 32))


def flops(module: nn.Module, samples: Tensor) -> int:
    with FlopCounterMode(display=False) as counter:
        module(samples)
    return int(counter.get_total_flops())


def saved_bytes(module: nn.Module, samples: Tensor) -> int:
    """Each storage that autograd keeps, once, without parameters."""
    own = {parameter.untyped_storage().data_ptr() for parameter in module.parameters()}
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor  # held, so that no other takes its place
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda one: one):
        outputs = module(samples)
    assert outputs.requires_grad
    return sum(one.untyped_storage().nbytes() for key, one in kept.items() if key not in own)


def saved_in(costs: Costs, batch: int) -> int:
    return sum(layer.memory(batch) for layer in costs.layers)


def outputs_of(module: nn.Module, samples: Tensor) -> dict[str, tuple[int, ...]]:
    """What the modules that compute by themselves give, without the batch."""
    found: dict[str, tuple[int, ...]] = {}

    def hook(name: str) -> Any:
        def note(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
            found[name] = tuple(output.shape[1:])

        return note

    for name, part in module.named_modules():
        if not list(part.children()):
            part.register_forward_hook(hook(name))
    module(samples)
    return found


@pytest.mark.parametrize("name", MODELS)
def test_counts_of_built_in_models_are_those_of_a_real_pass(name: str) -> None:
    torch.manual_seed(0)
    shape = shape_of(name)
    module, samples = make_network(name, shape, 10), torch.randn(BATCH, *shape)
    costs = costs_of(name, shape, 10)
    assert costs.parameters == sum(own.numel() for own in module.parameters())
    biases = sum(own.numel() for key, own in module.named_parameters() if key.endswith("bias"))
    assert costs.weights == costs.parameters - biases
    assert 2 * BATCH * costs.multiply_adds == flops(module, samples)
    assert saved_in(costs, BATCH) == saved_bytes(module, samples)
    assert costs.memory(BATCH) == saved_in(costs, BATCH) + 8 * costs.parameters
    real = outputs_of(module, samples)
    named = {layer.name: layer.output for layer in costs.layers if layer.name in real}
    weighted = {key for key, part in module.named_modules() if getattr(part, "weight", None) is not None}
    assert weighted <= named.keys()
    assert named == {key: real[key] for key in named}


@pytest.mark.parametrize(
    ("name", "parameters", "multiply_adds"),
    [
        ("alexnet", 61_100_840, 714_188_480),
        ("vgg19", 143_672_744, 19_632_062_464),
        ("vgg19-plain", 143_667_240, 19_632_062_464),
        ("resnet-50", 25_557_032, 4_089_184_256),
    ],
)
def test_totals_are_as_published(name: str, parameters: int, multiply_adds: int) -> None:
    costs = costs_of(name, (3, 224, 224), 1000)
    assert (costs.parameters, costs.multiply_adds) == (parameters, multiply_adds)


def test_alexnet_by_hand_layer_by_layer() -> None:
    costs = costs_of("alexnet", (3, 224, 224), 1000)
    by_hand = [
        ((64, 55, 55), 11 * 11 * 3 * 64 + 64, 55 * 55 * 11 * 11 * 3 * 64, 11),
        ((64, 27, 27), 0, 0, 11 + 2 * 4),
        ((192, 27, 27), 5 * 5 * 64 * 192 + 192, 27 * 27 * 5 * 5 * 64 * 192, 19 + 4 * 8),
        ((192, 13, 13), 0, 0, 51 + 2 * 8),
        ((384, 13, 13), 3 * 3 * 192 * 384 + 384, 13 * 13 * 3 * 3 * 192 * 384, 67 + 2 * 16),
        ((256, 13, 13), 3 * 3 * 384 * 256 + 256, 13 * 13 * 3 * 3 * 384 * 256, 99 + 2 * 16),
        ((256, 13, 13), 3 * 3 * 256 * 256 + 256, 13 * 13 * 3 * 3 * 256 * 256, 131 + 2 * 16),
        ((256, 6, 6), 0, 0, 163 + 2 * 16),
        ((4096,), 9216 * 4096 + 4096, 9216 * 4096, 224),
        ((4096,), 4096 * 4096 + 4096, 4096 * 4096, 224),
        ((1000,), 4096 * 1000 + 1000, 4096 * 1000, 224),
    ]
    found = [(one.output, one.parameters, one.multiply_adds, one.receptive_field) for one in costs.layers]
    assert found == [(*counts, (field, field)) for *counts, field in by_hand]
    # The input; outputs of the five convolutions, with the indices of the poolings (8 bytes); the rest in float32.
    first = 4 * (3 * 224 * 224 + 64 * 55 * 55)
    assert costs.layers[0].memory(1) == first
    assert costs.layers[1].memory(1) == (8 + 4) * 64 * 27 * 27
    # Its outputs with ReLU, the mask of the dropout after it, and what that leaves.
    assert costs.layers[8].memory(1) == 3 * 4 * 4096


class Positive(nn.Sequential):
    """Layers whose weights are positive, so that no influences of pixels cancel."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__(*layers)
        with torch.no_grad():
            for own in self.parameters():
                own.uniform_(0.1, 1.0)


def influencing(module: nn.Module, shape: tuple[int, int, int]) -> tuple[int, int]:
    """Height and width of the pixels that one place in the middle of the output depends on, the largest of four.

    The gradient of a pooling by maximum passes by one pixel only: take averages.
    """
    largest = (0, 0)
    samples = torch.rand(1, *shape, requires_grad=True)
    outputs = module(samples)
    rows, columns = outputs.shape[2] // 2, outputs.shape[3] // 2
    for row in (rows - 1, rows):
        for column in (columns - 1, columns):
            (gradient,) = torch.autograd.grad(outputs[0, :, row, column].sum(), samples, retain_graph=True)
            seen = gradient[0].sum(0) != 0
            spans = [int(places[-1] - places[0]) + 1 for places in (seen.any(axis).nonzero() for axis in (1, 0))]
            largest = (max(largest[0], spans[0]), max(largest[1], spans[1]))
    return largest


def conv(side: int | tuple[int, int], **options: Any) -> nn.Conv2d:
    return nn.Conv2d(2, 2, side, **options)


class Block(nn.Module):
    """Branches beside a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.small, self.large = Positive(conv(3, padding=1)), Positive(conv(5, padding=2), conv(3, padding=1))

    def forward(self, values: Tensor) -> Tensor:
        return torch.cat([self.small(values) + values, self.large(values)], 1)


class Skipping(nn.Module):
    """Every other place."""

    def forward(self, values: Tensor) -> Tensor:
        return values[:, :, ::2, 1::3]


STACKS: dict[str, Callable[[], nn.Sequential]] = {
    "strides": lambda: Positive(conv(3, stride=2), conv(5, stride=3), conv(3)),
    "oblong": lambda: Positive(conv((3, 5), stride=(2, 1)), conv((2, 3))),
    "dilated": lambda: Positive(conv(3, dilation=2), conv(3, dilation=(1, 4))),
    "grouped": lambda: Positive(conv(3, groups=2), conv(3)),
    "average pooling": lambda: Positive(conv(3), nn.AvgPool2d(2), conv(3), nn.AvgPool2d(3, stride=2), conv(3)),
    "pooling without a stride": lambda: Positive(conv(5), nn.AvgPool2d((2, 3)), conv(2)),
    "transposed": lambda: Positive(conv(3, stride=2), nn.ConvTranspose2d(2, 2, 4, stride=2), conv(3)),
    "upsampled": lambda: Positive(nn.AvgPool2d(2), nn.Upsample(scale_factor=2), conv(3)),
    "bilinear": lambda: Positive(conv(3), nn.Upsample(scale_factor=2, mode="bilinear"), conv(3)),
    "branches": lambda: nn.Sequential(Block(), Positive(nn.Conv2d(4, 2, 3))),
    "skipping": lambda: nn.Sequential(Skipping(), Positive(conv(3))),
    "shuffled": lambda: nn.Sequential(nn.PixelUnshuffle(2), Positive(nn.Conv2d(8, 8, 3)), nn.PixelShuffle(2)),
}


@pytest.mark.parametrize("name", STACKS)
def test_receptive_fields_are_the_pixels_that_have_a_gradient(name: str) -> None:
    torch.manual_seed(0)
    module = STACKS[name]()
    real = influencing(module, (2, 48, 48))
    last = nn.Conv2d(2, 2, 1)  # a layer, which tells the field of what is before it
    assert costs_of_module(nn.Sequential(module, last), (2, 48, 48)).layers[-1].receptive_field == real


@pytest.mark.parametrize(("filters", "side"), [(1, 3), (2, 3), (3, 3), (3, 5), (2, 11), (5, 2), (4, 1)])
def test_stacks_see_n_f_minus_n_plus_1(filters: int, side: int) -> None:
    torch.manual_seed(0)
    module = Positive(*(conv(side) for _ in range(filters)))
    expected = filters * side - filters + 1
    assert influencing(module, (2, 48, 48)) == (expected, expected)
    assert costs_of_module(module, (2, 48, 48)).layers[-1].receptive_field == (expected, expected)


@pytest.mark.parametrize(
    ("pooling", "field"),
    [
        (nn.MaxPool2d(3, stride=2), 3 + 2),
        (nn.MaxPool2d(2), 3 + 1),
        (nn.MaxPool2d(3, dilation=2), 3 + 4),
        (nn.AdaptiveAvgPool2d(6), 3 + 4),  # of 30 places
        (nn.AdaptiveAvgPool2d(7), 3 + 5),  # windows of 5 and 6
        (nn.AdaptiveAvgPool2d(1), 32),
        (nn.AdaptiveMaxPool2d(1), 32),
    ],
)
def test_poolings_widen_by_their_window(pooling: nn.Module, field: int) -> None:
    layer = costs_of_module(nn.Sequential(nn.Conv2d(3, 4, 3), pooling), (3, 32, 32)).layers[-1]
    assert layer.kind.startswith(("pooling", "mean"))
    assert layer.receptive_field == (field, field)


class Shared(nn.Module):
    """One layer, used twice, and a parameter that no layer takes as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.scale = nn.Conv2d(3, 3, 3, padding=1), nn.Parameter(torch.ones(3, 1, 1))

    def forward(self, values: Tensor) -> Tensor:
        made: Tensor = self.layer(self.layer(values) * self.scale)
        return made


class Tokens(nn.Module):
    """Patches, attention among them, and their mean."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 8, stride=8)
        self.mixed = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.head = nn.Linear(8, 10)

    def forward(self, values: Tensor) -> Tensor:
        tokens = self.mixed(self.patches(values).flatten(2).transpose(1, 2))
        scores: Tensor = self.head(tokens.mean(1))
        return scores


class Values(nn.Module):
    """Looks at values, which the meta device has none of."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(3, 4, 3)
        self.head = nn.Linear(4 * 30 * 30, 10)

    def forward(self, values: Tensor) -> Tensor:
        maps = self.layer(values)
        if maps.mean().item() > 1e9:
            raise ValueError("too large")
        scores: Tensor = self.head(nn.functional.dropout(maps.relu().flatten(1)))
        return scores


class Upwards(nn.Module):
    """A transposed convolution, with groups and dilation elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3, dilation=2, bias=False),
            nn.GroupNorm(2, 8),
            nn.Conv2d(8, 12, 3, stride=2, groups=4),
            nn.ConvTranspose2d(12, 6, 3, stride=2, groups=3),
            nn.InstanceNorm2d(6, affine=True),
            nn.MaxPool2d(3, dilation=2),
        )

    def forward(self, values: Tensor) -> Tensor:
        made: Tensor = self.layers(values)
        return made


def shared(_shape: tuple[int, ...], _classes: int) -> nn.Module:
    return Shared()


def tokens(_shape: tuple[int, ...], _classes: int) -> nn.Module:
    return Tokens()


def values(_shape: tuple[int, ...], _classes: int) -> nn.Module:
    return Values()


def upwards(_shape: tuple[int, ...], _classes: int) -> nn.Module:
    return Upwards()


def number(_shape: tuple[int, ...], classes: int) -> int:
    return classes


def broken(_shape: tuple[int, ...], _classes: int) -> nn.Module:
    raise KeyError("width")


def linear(_shape: tuple[int, ...], classes: int) -> nn.Module:
    return nn.Linear(5, classes)


@pytest.mark.parametrize("factory", [shared, values, upwards, tokens])
def test_counts_of_own_models_are_those_of_a_real_pass(factory: Any) -> None:
    torch.manual_seed(0)
    module, samples = factory((3, 32, 32), 10), torch.randn(BATCH, 3, 32, 32)
    costs = costs_of(f"{__name__}:{factory.__name__}", (3, 32, 32), 10)
    assert costs.parameters == sum(own.numel() for own in module.parameters())
    biases = sum(own.numel() for key, own in module.named_parameters() if key.endswith("bias"))
    assert costs.weights == costs.parameters - biases
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        assert 2 * BATCH * costs.multiply_adds == flops(module, samples)
        assert saved_in(costs, BATCH) == saved_bytes(module, samples)


def test_a_shared_layer_computes_twice_and_counts_its_parameters_once() -> None:
    first, second, others = costs_of(f"{__name__}:shared", (3, 32, 32), 10).layers
    assert (first.parameters, second.parameters, others.parameters) == (84, 0, 3)
    assert first.multiply_adds == second.multiply_adds == 32 * 32 * 81


def test_products_over_tokens_count_each_token_and_have_no_receptive_field() -> None:
    layers = costs_of(f"{__name__}:tokens", (3, 32, 32), 10).layers
    patches, first, *_, head, _others = layers
    assert (patches.receptive_field, first.receptive_field, head.receptive_field) == ((8, 8), None, None)
    assert (first.output, first.activations, first.multiply_adds) == ((16, 24), 16 * 24, 16 * 8 * 24)


def test_frozen_parameters_have_no_gradient() -> None:
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Conv2d(4, 4, 3))
    module[0].requires_grad_(False)
    frozen, learnt = (sum(own.numel() for own in part.parameters()) for part in module)
    assert costs_of_module(module, (3, 8, 8)).learning_bytes == 4 * frozen + 8 * learnt


def test_a_network_without_layers_costs_nothing() -> None:
    costs = costs_of_module(nn.Sequential(nn.Flatten(), nn.ReLU()), (3, 8, 8))
    assert (costs.parameters, costs.multiply_adds, costs.activations, costs.memory(4)) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("name", "shape", "problem"),
    [
        ("vgg19", (3,), "--input 3: vgg19 takes pictures; give channels, height and width"),
        ("resnet-20", (3, 4, 5, 6), "--input 3x4x5x6: resnet-20 takes pictures"),
        ("neuron", (3, 1, 1), "--input 3x1x1: neuron takes plain numbers; give how many"),
        ("alexnet", (3, 1, 1), "--input 3x1x1: alexnet does not take samples of this shape: Given input size"),
        ("alexnet-cifar", (3, 14, 14), "--input 3x14x14: alexnet-cifar does not take samples of this shape: pictures"),
        (f"{__name__}:broken", (3, 8, 8), "fails for samples of 3x8x8 and 10 classes: KeyError: 'width'"),
        (f"{__name__}:linear", (3, 8, 8), f"--input 3x8x8: {__name__}:linear fails on samples of this shape: Run"),
    ],
)
def test_an_input_that_does_not_fit_is_a_clear_error(
    name: str, shape: tuple[int, ...], problem: str, recwarn: pytest.WarningsRecorder
) -> None:
    with pytest.raises(ModelError) as raised:
        costs_of(name, shape, 10)
    assert problem in str(raised.value)
    assert raised.value.remedy
    assert "\n" not in str(raised.value)
    assert not recwarn.list


def test_a_factory_must_return_a_module() -> None:
    with pytest.raises(FactoryError, match=r"returned int; return a torch\.nn\.Module"):
        costs_of(f"{__name__}:number", (3, 8, 8), 10)
