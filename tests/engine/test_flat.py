"""Weights and gradients as flat buffers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from cuda_ext import FusedLinear
from engine.flat import FlatParameters
from engine.optimizer import Sgd


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def test_parameters_become_views_with_the_same_values() -> None:
    module = network()
    before = [parameter.detach().clone() for parameter in module.parameters()]
    flat = FlatParameters(module)
    assert len(flat) == 3 * 4 + 4 + 4 * 2 + 2
    for parameter, old in zip(module.parameters(), before, strict=True):
        assert torch.equal(parameter, old)
        assert parameter.untyped_storage().data_ptr() == flat.weights.untyped_storage().data_ptr()
    assert torch.equal(flat.weights, torch.cat([old.flatten() for old in before]))
    assert np.array_equal(flat.on_host("weights").numpy(), flat.weights.numpy())
    flat.weights.zero_()
    assert not any(parameter.any() for parameter in module.parameters())


def test_gradients_add_up_in_the_flat_buffer() -> None:
    module, plain = network(), network()
    flat = FlatParameters(module)
    inputs = torch.ones(5, 3)
    for _ in range(2):
        torch.autograd.backward(module(inputs).sum())
        torch.autograd.backward(plain(inputs).sum())
    expected = torch.cat([p.grad.flatten() for p in plain.parameters() if p.grad is not None])
    assert torch.equal(flat.gradients, expected)
    assert np.array_equal(flat.on_host("gradients").numpy(), expected.numpy())


def test_sgd_over_the_flat_parameters_is_torchs_over_all() -> None:
    module, plain = network(), network()
    flat = FlatParameters(module)
    ours = Sgd(flat, momentum=True)
    ours.begin(0.9, 0.01)
    ours.set_rate(0.1)
    theirs = torch.optim.SGD(plain.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)
    inputs = torch.linspace(-1, 1, 15).view(5, 3)
    for _ in range(3):
        flat.gradients.zero_()
        theirs.zero_grad()
        torch.autograd.backward(module(inputs).square().sum())
        torch.autograd.backward(plain(inputs).square().sum())
        ours.step()
        theirs.step()
    for parameter, other in zip(module.parameters(), plain.parameters(), strict=True):
        assert torch.equal(parameter, other)


def test_on_the_cpu_the_host_arrays_are_the_same_memory() -> None:
    flat = FlatParameters(network())
    flat.on_host("weights")[:] = 7
    flat.from_host("weights")
    assert (flat.weights == 7).all()
    flat.gradients.fill_(3)
    flat.to_host("gradients")
    assert (flat.on_host("gradients") == 3).all()


def test_parameters_of_several_types_or_none_are_refused() -> None:
    with pytest.raises(ValueError, match="must share one type and device"):
        FlatParameters(nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1).double()))
    with pytest.raises(ValueError, match="got none"):
        FlatParameters(nn.ReLU())


def test_what_does_not_require_gradients_stays_out() -> None:
    module = network()
    frozen = module.get_parameter("0.weight").requires_grad_(False)
    before = frozen.clone()
    flat = FlatParameters(module)
    assert len(flat) == 4 + 4 * 2 + 2
    flat.weights.zero_()
    assert torch.equal(frozen, before)
    loss = module(torch.ones(5, 3)).sum()
    flat.compute_gradients(loss, torch.ones_like(loss))
    assert frozen.grad is None
    assert flat.gradients[-2:].tolist() == [5, 5]


@pytest.mark.parametrize("watched", [False, True])
def test_computed_gradients_replace_those_before_and_are_zero_where_the_loss_does_not_reach(watched: bool) -> None:
    module, plain = network(), network()
    flat = FlatParameters(module)
    completed: list[int] = []
    if watched:
        flat.watch(completed.append)
    flat.gradients.fill_(7)
    inputs = torch.ones(5, 3)
    loss = module[:2](inputs).sum()
    flat.compute_gradients(loss, torch.full_like(loss, 0.5))
    torch.autograd.backward(plain[:2](inputs).sum() / 2)
    expected = [torch.zeros_like(p) if p.grad is None else p.grad for p in plain.parameters()]
    assert torch.allclose(flat.gradients, torch.cat([gradient.flatten() for gradient in expected]))
    assert not flat.gradients[-(4 * 2 + 2) :].any()
    assert sorted(completed) == ([0, 1] if watched else [])
    torch.autograd.backward(module(inputs).sum())
    assert len(completed) == (2 if watched else 0), "only its own passes are told of"


def test_a_parameter_stored_by_columns_stays_so() -> None:
    module = nn.Sequential(FusedLinear(5, 8, "relu"), FusedLinear(8, 10))
    before = [parameter.detach().clone() for parameter in module.parameters()]
    inputs = torch.linspace(-1, 1, 15).view(3, 5)
    outputs = module(inputs).detach()
    flat = FlatParameters(module)
    assert len(flat) == 8 * 6 + 10 * 9
    for parameter, old in zip(module.parameters(), before, strict=True):
        assert torch.equal(parameter, old)
        assert parameter.stride(0) == 1
        assert parameter.grad is not None
        assert parameter.grad.stride() == parameter.stride()
    assert torch.equal(module(inputs), outputs)
    torch.autograd.backward(module(inputs).sum())
    flat.weights -= flat.gradients
    for parameter, old in zip(module.parameters(), before, strict=True):
        assert parameter.grad is not None
        assert torch.equal(parameter, old - parameter.grad)
