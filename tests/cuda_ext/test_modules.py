"""The modules beside nn.Linear: same values in, same values out, and all that is done with modules."""

from __future__ import annotations

import copy
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.multiprocessing.spawn import spawn
from torch.nn.parallel import DistributedDataParallel

from cuda_ext import FusedLinear, FusedMLP
from tests.cuda_ext.devices import DEVICES, randoms


def plain(device: str) -> nn.Sequential:
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Linear(20, 16, device=device),
        nn.ReLU(),
        nn.Linear(16, 12, device=device),
        nn.Sigmoid(),
        nn.Linear(12, 10, device=device),
    )


def gradients(module: nn.Module, x: Tensor, forward: Callable[[Tensor], Tensor] | None = None) -> list[Tensor]:
    """Of the sum of squares, with respect to the input and each bias and weight in turn."""
    module.zero_grad()
    x = x.detach().requires_grad_()
    torch.autograd.backward((forward or module)(x).square().sum())
    assert x.grad is not None
    found = [x.grad]
    for part in module.modules():
        if isinstance(part, nn.Linear | FusedLinear):
            assert part.weight.grad is not None
            grad = part.weight.grad
            if isinstance(part, nn.Linear):
                assert part.bias.grad is not None
                grad = torch.cat([part.bias.grad[:, None], grad], 1)
            found.append(grad)
    return found


@pytest.mark.parametrize("device", DEVICES)
def test_a_stack_does_what_its_layers_did(device: str) -> None:
    layers = plain(device)
    stack = FusedMLP.from_layers(layers)
    x = randoms(9, 20, dtype=torch.float32, device=device)
    torch.testing.assert_close(stack(x), layers(x))
    for ours, theirs in zip(gradients(stack, x), gradients(layers, x), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_initial_values_are_those_of_linear_at_the_same_place() -> None:
    torch.manual_seed(5)
    ours = FusedLinear(7, 4)
    torch.manual_seed(5)
    theirs = nn.Linear(7, 4)
    assert torch.equal(ours.weight[:, 1:], theirs.weight)
    assert torch.equal(ours.weight[:, 0], theirs.bias)


@pytest.mark.parametrize("outputs", [4, 10])
def test_state_dicts_go_both_ways(outputs: int, tmp_path: Path) -> None:
    linear, fused = nn.Linear(6, outputs), FusedLinear(6, outputs, "relu")
    assert fused.state_dict().keys() == linear.state_dict().keys()
    torch.save(linear.state_dict(), tmp_path / "linear.pt")
    fused.load_state_dict(torch.load(tmp_path / "linear.pt"))
    x = torch.randn(3, 6)
    torch.testing.assert_close(fused(x), linear(x).relu())
    torch.save(fused.state_dict(), tmp_path / "fused.pt")
    other = nn.Linear(6, outputs)
    other.load_state_dict(torch.load(tmp_path / "fused.pt"))
    assert torch.equal(other.weight, linear.weight)
    assert torch.equal(other.bias, linear.bias)


def test_a_state_dict_with_the_wrong_shape_or_a_missing_part_is_refused() -> None:
    fused = FusedLinear(6, 4)
    with pytest.raises(RuntimeError, match="size mismatch"):
        fused.load_state_dict(nn.Linear(7, 4).state_dict())
    with pytest.raises(RuntimeError, match=r"Missing key\(s\)"):
        fused.load_state_dict({})
    with pytest.raises(RuntimeError, match="bias"):
        fused.load_state_dict(nn.Linear(6, 4, bias=False).state_dict())


def test_linear_becomes_fused_and_comes_back() -> None:
    linear = nn.Linear(6, 10)
    back = FusedLinear.from_linear(linear).to_linear()
    assert torch.equal(back.weight, linear.weight)
    assert torch.equal(back.bias, linear.bias)
    without = FusedLinear.from_linear(nn.Linear(6, 10, bias=False))
    assert bool((without.weight[:, 0] == 0).all())


def test_modules_that_cannot_be_fused_are_named() -> None:
    with pytest.raises(ValueError, match="Tanh"):
        FusedMLP.from_layers([nn.Linear(3, 3), nn.Tanh()])
    with pytest.raises(ValueError, match=r"expected an nn\.Linear before ReLU"):
        FusedMLP.from_layers([nn.ReLU()])
    with pytest.raises(ValueError, match=r"approximate='tanh'"):
        FusedMLP.from_layers([nn.Linear(3, 3), nn.GELU()])
    with pytest.raises(ValueError, match="got 'swish'"):
        FusedLinear(3, 3, "swish")
    with pytest.raises(ValueError, match="widths"):
        FusedMLP([3])


@pytest.mark.parametrize("device", DEVICES)
def test_under_autocast_they_compute_in_the_lower_type(device: str) -> None:
    stack = FusedMLP.from_layers(plain(device))
    x = randoms(9, 20, dtype=torch.float32, device=device)
    with torch.autocast(device, dtype=torch.bfloat16):
        result = stack(x)
        single = stack[0](x)
    assert result.dtype == single.dtype == torch.bfloat16
    torch.testing.assert_close(result.float(), stack(x), rtol=3e-2, atol=3e-2)
    torch.autograd.backward(result.float().sum())
    assert all(parameter.grad is not None and parameter.grad.dtype == torch.float32 for parameter in stack.parameters())


@pytest.mark.parametrize("device", DEVICES)
def test_they_compile_into_one_graph(device: str) -> None:
    stack = nn.Sequential(FusedMLP.from_layers(plain(device)), FusedLinear(10, 4, "gelu", device=device))
    x = randoms(9, 20, dtype=torch.float32, device=device)
    compiled = torch.compile(stack, fullgraph=True)
    torch.testing.assert_close(compiled(x), stack(x))
    for ours, theirs in zip(gradients(stack, x, compiled), gradients(stack, x), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_a_copy_is_independent_and_the_same() -> None:
    stack = FusedMLP([5, 10, 3])
    other = copy.deepcopy(stack)
    x = torch.randn(2, 5)
    torch.testing.assert_close(other(x), stack(x))
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    assert bool((stack(x) != 0).any())
    assert "activation='relu'" in repr(stack)


def _rank(rank: int, port: int, folder: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    torch.manual_seed(rank)
    stack = FusedMLP([12, 16, 10])
    model = DistributedDataParallel(stack)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.load(Path(folder) / "batch.pt")
    share = slice(rank * 8, rank * 8 + 8)
    for _ in range(3):
        optimizer.zero_grad()
        torch.autograd.backward(nn.functional.cross_entropy(model(x[share]), y[share]))
        optimizer.step()
    torch.save(stack.state_dict(), Path(folder) / f"{rank}.pt")
    torch.distributed.destroy_process_group()


def test_data_parallel_training_equals_training_alone(tmp_path: Path) -> None:
    torch.manual_seed(0)
    stack = FusedMLP([12, 16, 10])
    x, y = torch.randn(16, 12), torch.randint(10, (16,))
    torch.save((x, y), tmp_path / "batch.pt")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    spawn(_rank, (port, str(tmp_path)), nprocs=2)
    optimizer = torch.optim.SGD(stack.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        torch.autograd.backward(nn.functional.cross_entropy(stack(x), y))
        optimizer.step()
    for rank in range(2):
        for name, value in torch.load(tmp_path / f"{rank}.pt").items():
            torch.testing.assert_close(value, stack.state_dict()[name])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("optimiser", [torch.optim.SGD, torch.optim.Adam])
@pytest.mark.parametrize("way", [{}, {"foreach": True}, {"fused": True}])
def test_optimisers_of_every_kind_train_as_on_torchs_layers(
    optimiser: type[torch.optim.Optimizer], way: dict[str, Any], device: str
) -> None:
    layers = plain(device)
    stack = FusedMLP.from_layers(layers)
    x = randoms(9, 20, dtype=torch.float32, device=device)
    for module in (layers, stack):
        steps = optimiser(module.parameters(), lr=0.01, **way)  # type: ignore[call-arg]
        for _ in range(3):
            steps.zero_grad()
            torch.autograd.backward(module(x).square().sum())
            steps.step()
    torch.testing.assert_close(stack(x), layers(x), rtol=1e-4, atol=1e-5)


def test_a_weight_stays_stored_by_columns() -> None:
    layer = FusedLinear(7, 10)
    for other in (copy.deepcopy(layer), FusedLinear(7, 10).to(torch.bfloat16)):
        assert other.weight.stride() == (1, 10)
    layer.load_state_dict(nn.Linear(7, 10).state_dict(), assign=True)
    assert layer.weight.stride() == (1, 10)


def test_a_bias_of_the_wrong_length_is_named() -> None:
    state = nn.Linear(6, 4).state_dict()
    state["bias"] = torch.zeros(5)
    with pytest.raises(RuntimeError, match=r"size mismatch for bias: \[5\] does not fit a weight \[4, 6\]"):
        FusedLinear(6, 4).load_state_dict(state)


def test_under_autocast_other_types_are_cast_too() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert FusedLinear(6, 4)(torch.ones(2, 6, dtype=torch.float16)).dtype == torch.bfloat16
