"""The networks: how large, how they begin, what they compute."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from cuda_ext import FusedLinear, artifact
from cuda_ext.load import load_operators
from engine.config import BATCH_NORMALISED, MODELS, TrainingConfig
from engine.data import DataSet, load
from engine.factories import FactoryError
from engine.models import UNIFORM_BOUND, AlexNetCifar, ModelError, Neuron, Task, build, correct, make_network
from engine.operators import OperatorsError, check_operators


def pictures(channels: int, pixels: int, count: int = 4) -> DataSet:
    inputs = np.random.default_rng(0).integers(0, 256, (count, channels, pixels, pixels), dtype=np.uint8)
    return DataSet("test", inputs, np.arange(count, dtype=np.int64), classes=10)


def parameter_count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def values(task: Task) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in task.module.parameters()])


@pytest.mark.parametrize(("channels", "pixels", "features"), [(3, 32, 576), (1, 32, 576), (3, 28, 256), (1, 28, 256)])
def test_alexnet_has_the_papers_layers(channels: int, pixels: int, features: int) -> None:
    network = AlexNetCifar(channels, (pixels, pixels), 10)
    convolutions = (25 * channels * 32 + 32) + (25 * 32 * 32 + 32) + (25 * 32 * 64 + 64)
    connected = (features * 64 + 64) + (64 * 32 + 32) + (32 * 10 + 10)
    assert parameter_count(network) == convolutions + connected
    images = torch.zeros(2, channels, pixels, pixels)
    assert network.features(images).flatten(1).shape == (2, features)
    assert network(images).shape == (2, 10)


def test_the_papers_network_for_cifar10_has_118666_parameters() -> None:
    assert parameter_count(AlexNetCifar(3, (32, 32), 10)) == 2432 + 25632 + 51264 + 36928 + 2080 + 330 == 118666


def test_a_picture_may_be_oblong_and_must_do_for_three_poolings() -> None:
    assert AlexNetCifar(3, (15, 40), 7)(torch.zeros(1, 3, 15, 40)).shape == (1, 7)
    for size in ((14, 40), (40, 14), (1, 1)):
        with pytest.raises(ValueError, match=f"pictures of {size[0]} x {size[1]} pixels are too small"):
            AlexNetCifar(3, size, 10)


# As published, or as torchvision counts them where the layers are the same.
PUBLISHED = {
    ("alexnet", 3, 224, 1000): 61_100_840,
    ("resnet-50", 3, 224, 1000): 25_557_032,
    ("vgg11", 3, 224, 1000): 132_863_336 + 2_752,  # each channel: a scale and a shift instead of a bias
    ("vgg16", 3, 224, 1000): 138_357_544 + 4_224,
    ("vgg19", 3, 224, 1000): 143_667_240 + 5_504,
    ("vgg11-plain", 3, 224, 1000): 132_863_336,
    ("vgg13-plain", 3, 224, 1000): 133_047_848,
    ("vgg16-plain", 3, 224, 1000): 138_357_544,
    ("vgg19-plain", 3, 224, 1000): 143_667_240,
    ("resnet-20", 3, 32, 10): 269_722,
    ("resnet-32", 3, 32, 10): 464_154,
    ("resnet-44", 3, 32, 10): 658_586,
    ("resnet-56", 3, 32, 10): 853_018,
    ("mlp", 1, 28, 10): 784 * 512 + 512 + 512 * 256 + 256 + 256 * 10 + 10,
}


@pytest.mark.parametrize(("name", "channels", "pixels", "classes"), PUBLISHED)
def test_networks_are_as_large_as_published(name: str, channels: int, pixels: int, classes: int) -> None:
    with torch.device("meta"):
        network = make_network(name, (channels, pixels, pixels), classes)
    assert parameter_count(network) == PUBLISHED[name, channels, pixels, classes]


@pytest.mark.parametrize("name", [name for name, takes_pictures in MODELS.items() if takes_pictures])
@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (3, 224, 224)])
def test_networks_take_pictures_of_each_size(name: str, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)  # deep networks may give two noisy pictures the same scores, to the last bit
    network = make_network(name, shape, 7).eval()
    with torch.no_grad():
        scores = network(torch.randn(2, *shape))
    assert scores.shape == (2, 7)
    assert scores.isfinite().all()
    assert not torch.equal(scores[0], scores[1])


@pytest.mark.parametrize("name", ["alexnet", "vgg11", "vgg11-plain", "mlp", "resnet-20", "googlenet"])
def test_networks_begin_and_compute_alike_by_either_operators(name: str) -> None:
    found = []
    for fc in ("fused", "torch"):
        torch.manual_seed(4)
        found.append(make_network(name, (3, 32, 32), 10, fc).eval())
    fused, plain = found
    assert any(isinstance(part, FusedLinear) for part in fused.modules())
    assert not any(isinstance(part, FusedLinear) for part in plain.modules())
    images = torch.randn(3, 3, 32, 32)
    torch.testing.assert_close(fused(images), plain(images))


@pytest.mark.parametrize(("name", "layers"), [("resnet-20", 20), ("resnet-56", 56), ("resnet-50", 50), ("vgg16", 16)])
def test_depths_count_layers_with_weights(name: str, layers: int) -> None:
    network = make_network(name, (3, 224, 224) if name == "resnet-50" else (3, 32, 32), 10)
    weighted = [m for n, m in network.named_modules() if isinstance(m, nn.Conv2d | nn.Linear) and "shortcut" not in n]
    assert len(weighted) == layers


def test_a_size_that_a_network_cannot_take_is_a_clear_error() -> None:
    with pytest.raises(
        ModelError, match="alexnet-cifar cannot learn data test: pictures of 14 x 14 pixels are too small"
    ):
        build(TrainingConfig(), pictures(3, 14))


def test_a_network_and_samples_of_another_kind_are_a_clear_error() -> None:
    numbers = DataSet("mine", np.zeros((4, 3), np.float32), np.arange(4, dtype=np.int64), classes=4)
    with pytest.raises(
        ModelError, match="alexnet cannot learn data mine: its samples are plain numbers, and the network"
    ):
        build(TrainingConfig(model="alexnet", data="mine:numbers"), numbers)
    with pytest.raises(ModelError, match="its samples are pictures, and the network takes plain numbers"):
        build(TrainingConfig(model="neuron", data="mine:pictures"), pictures(3, 8))


def test_right_is_the_highest_score_or_a_number_within_a_half() -> None:
    scores = torch.tensor([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]])
    assert correct(scores, torch.tensor([1, 0, 0])).item() == 2
    numbers = torch.tensor([[0.9, 2.0], [0.4, 2.6], [0.4, 2.4]])
    assert correct(numbers, torch.tensor([[1.0, 2.0], [0.0, 2.0], [0.0, 2.0]])).item() == 2
    assert correct(torch.tensor([[math.nan]]), torch.tensor([[0.0]])).item() == 0


OWN = """
from torch import nn
from engine.models import Task

def network(shape, classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(shape[0] * shape[1] * shape[2], classes))

def task(shape, classes):
    return Task(network(shape, classes), lambda outputs, targets: outputs.square().sum())

def nothing(shape, classes):
    return None

number = 3
"""


def test_a_network_may_be_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_networks.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    data = pictures(3, 8)
    inputs, targets = torch.ones(4, 3, 8, 8), torch.from_numpy(data.targets)
    made = build(TrainingConfig(model="own_networks:network"), data)
    scores = made.module(inputs)
    assert made.loss_sum(scores, targets).item() == pytest.approx(
        nn.functional.cross_entropy(scores, targets).item() * 4
    )
    made = build(TrainingConfig(model="own_networks:task"), data)
    scores = made.module(inputs)
    assert made.loss_sum(scores, targets).item() == pytest.approx(scores.square().sum().item())
    for name, problem in {
        "own_networks:nothing": "gave a NoneType; return a torch.nn.Module or an engine.models.Task",
        "own_networks:number": "module own_networks has no callable number",
        "own_networks:netwrok": "has no callable netwrok; did you mean own_networks:network?",
        "other_networks:network": "there is no module other_networks; run from the folder that holds it",
        "other.networks:network": "there is no module other.networks",
    }.items():
        with pytest.raises(FactoryError, match=re.escape(problem)):
            build(TrainingConfig(model=name), data)


def test_the_neuron_is_a_sigmoid() -> None:
    neuron = Neuron(2)
    with torch.no_grad():
        neuron.linear.weight.copy_(torch.tensor([[2.0, -1.0]]))
        neuron.linear.bias.fill_(0.5)
    out = neuron(torch.tensor([[1.0, 2.0], [0.0, 0.0]]))
    assert out.flatten().tolist() == pytest.approx([1 / (1 + np.exp(-0.5)), 1 / (1 + np.exp(-0.5))])
    assert parameter_count(neuron) == 3


@pytest.mark.parametrize(
    ("model", "data"), [("alexnet-cifar", pictures(3, 32)), ("neuron", load("step-function", "test"))]
)
def test_uniform_weights_fill_their_bounds(model: str, data: DataSet) -> None:
    torch.manual_seed(0)
    found = values(build(TrainingConfig.model_construct(model=model, initial_weights="uniform"), data))
    assert found.abs().max() <= UNIFORM_BOUND == 0.05
    assert len(set(found.tolist())) > 0.9 * len(found)
    if len(found) > 1000:
        assert found.max() > 0.049
        assert found.min() < -0.049
        assert abs(found.mean()) < 0.001


@pytest.mark.parametrize("model", ["resnet-20", "vgg11", "googlenet"])
def test_uniform_weights_leave_normalisation_at_one_and_zero(model: str) -> None:
    torch.manual_seed(0)
    module = build(
        TrainingConfig.model_validate({"model": model, "initial_weights": "uniform"}), pictures(3, 32)
    ).module
    norms = [part for part in module.modules() if isinstance(part, nn.BatchNorm2d)]
    assert norms
    for norm in norms:
        assert bool((norm.weight == 1).all())
        assert bool((norm.bias == 0).all())
    others = [p for part in module.modules() if isinstance(part, nn.Conv2d | nn.Linear) for p in part.parameters(False)]
    assert all(parameter.abs().max() <= UNIFORM_BOUND for parameter in others)
    assert torch.cat([parameter.flatten() for parameter in others]).std() > 0.02


def test_torchs_own_weights_differ_by_layer() -> None:
    torch.manual_seed(0)
    task = build(TrainingConfig(initial_weights="torch"), pictures(3, 32))
    for layer in task.module.modules():
        if isinstance(layer, nn.Conv2d | FusedLinear):
            inputs = layer.weight[0].numel() - isinstance(layer, FusedLinear)
            assert 0.9 * inputs**-0.5 < layer.weight.abs().max() <= inputs**-0.5


@pytest.mark.parametrize("initial_weights", ["torch", "uniform"])
def test_the_seed_decides_the_weights(initial_weights: str) -> None:
    config = TrainingConfig.model_validate({"initial_weights": initial_weights})
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(values(build(config, pictures(1, 28))))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


@pytest.mark.parametrize("name", ["alexnet-cifar", "neuron"])
def test_losses_are_sums_over_the_batch(name: str) -> None:
    if name == "neuron":
        data = load("step-function", "test")
        inputs, targets = torch.from_numpy(data.inputs[:4]), torch.from_numpy(data.targets[:4])
        config = TrainingConfig(model=name, data="step-function")
    else:
        data = pictures(3, 32)
        inputs, targets = torch.from_numpy(data.inputs) / 255, torch.from_numpy(data.targets)
        config = TrainingConfig(model=name)
    task = build(config, data)
    singles = [task.loss_sum(task.module(inputs[i : i + 1]), targets[i : i + 1]).item() for i in range(4)]
    assert task.loss_sum(task.module(inputs), targets).item() == pytest.approx(sum(singles), rel=1e-5)


def test_fully_connected_layers_begin_and_compute_alike_by_either_operators() -> None:
    found = []
    for fc in ("fused", "torch"):
        torch.manual_seed(4)
        found.append(build(TrainingConfig.model_validate({"fc": fc}), pictures(3, 32)).module)
    fused, plain = found
    assert any(isinstance(part, FusedLinear) for part in fused.modules())
    assert not any(isinstance(part, FusedLinear) for part in plain.modules())
    images = torch.randn(6, 3, 32, 32)
    torch.testing.assert_close(fused(images), plain(images))


def test_fused_layers_are_refused_where_the_operators_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifact, "problem", lambda: "the compiled operators are missing")
    monkeypatch.setattr("cuda_ext.load.load_operators", load_operators.__wrapped__)
    with pytest.raises(OperatorsError) as refused:
        build(TrainingConfig(), pictures(3, 32))
    assert str(refused.value) == (
        "the compiled operators are missing; run `python -m cuda_ext.build`, or set trial.fc to torch"
    )
    assert build(TrainingConfig(fc="torch"), pictures(3, 32)).module is not None


def test_a_trial_on_a_gpu_needs_the_operators_with_cuda_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    note = artifact.read_note()
    assert note is not None
    monkeypatch.setattr(artifact, "read_note", lambda *_: replace(note, cuda=False))
    assert artifact.problem() is None
    with pytest.raises(OperatorsError, match="no CUDA kernels, and the trial is to run on a GPU; install nvcc and run"):
        check_operators(cuda=True)
    monkeypatch.setattr(
        artifact, "read_note", lambda *_: replace(note, cuda=True, sources=artifact.source_digest(True))
    )
    check_operators(cuda=True)


@pytest.mark.parametrize("name", [name for name, pictures in MODELS.items() if pictures])
def test_the_models_with_batch_normalisation_are_those_that_are_listed(name: str) -> None:
    with torch.device("meta"):
        network = make_network(name, (3, 32, 32), 10)
    assert any(isinstance(part, nn.BatchNorm2d) for part in network.modules()) == (name in BATCH_NORMALISED)
