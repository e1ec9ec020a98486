"""A step of SGD: the reference's values to the last bit, torch's own, and numbers that change between steps."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from cuda_ext import reference, sgd_step_
from tests.cuda_ext.devices import DEVICES, randoms

COUNTS = [0, 1, 3, 4, 1023, 1024, 145_578]
FLOATS = [torch.float32, torch.float64]


def numbers(rate: float, momentum: float, decay: float, device: str) -> Tensor:
    return torch.tensor([rate, momentum, decay], dtype=torch.float64, device=device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("momentum", "decay"), [(0.0, 0.0), (0.9, 0.0), (0.0, 0.004), (0.9, 0.004)])
@pytest.mark.parametrize("count", COUNTS)
def test_it_is_the_reference(count: int, momentum: float, decay: float, dtype: torch.dtype, device: str) -> None:
    found: list[list[Tensor | None]] = []
    for step in (sgd_step_, reference.sgd_step_):
        weights, gradients = (randoms(count, dtype=dtype, device=device, seed=seed) for seed in (1, 2))
        velocity = randoms(count, dtype=dtype, device=device, seed=3) if momentum else None
        for rate in (0.1, 0.02):
            step(weights, gradients, velocity, numbers(rate, momentum, decay, device))
        found.append([weights, velocity])
    for ours, theirs in zip(*found, strict=True):
        if ours is not None and theirs is not None:
            # A product and a sum may be rounded once.
            assert torch.allclose(ours, theirs, rtol=2 * torch.finfo(dtype).eps, atol=8 * torch.finfo(dtype).eps)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_it_is_torchs_fused_optimizer(momentum: float, device: str) -> None:
    ours = randoms(10_007, dtype=torch.float32, device=device)
    parameter = torch.nn.Parameter(ours.clone())
    velocity = torch.zeros_like(ours) if momentum else None
    theirs = torch.optim.SGD([parameter], lr=0.1, momentum=momentum, weight_decay=0.004, fused=True)
    for step in range(3):
        parameter.grad = randoms(10_007, dtype=torch.float32, device=device, seed=step + 1)
        sgd_step_(ours, parameter.grad, velocity, numbers(0.1, momentum, 0.004, device))
        theirs.step()
    torch.testing.assert_close(ours, parameter.detach(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
def test_a_diverged_step_passes_through(device: str) -> None:
    weights, gradients = torch.ones(5, device=device), torch.tensor([1.0, torch.inf, -torch.inf, torch.nan, 0.0])
    sgd_step_(weights, gradients.to(device), None, numbers(0.5, 0.0, 0.0, device))
    assert weights.tolist()[:3] == [0.5, -torch.inf, torch.inf]
    assert weights[3].isnan()
    assert weights[4] == 1


@pytest.mark.parametrize("device", DEVICES)
def test_what_does_not_fit_is_refused(device: str) -> None:
    weights, rates = torch.ones(8, device=device), numbers(0.1, 0.9, 0.0, device)
    for wrong, message in (
        ((weights.half(), weights.half(), None, rates), "expected float32 or float64 weights, got"),
        ((weights, weights[:7], None, rates), r"expected contiguous gradients of sizes \[8\]"),
        ((weights, weights.double(), None, rates), "expected gradients of float"),
        ((weights, weights, weights.view(4, 2).t().reshape(8)[::1].view(2, 4), rates), "expected contiguous velocity"),
        ((weights, weights, None, rates.float()), r"expected numbers \(rate, momentum, decay\) as float64 \[3\]"),
        ((weights, weights, None, rates[:2]), r"float64 \[3\]"),
    ):
        with pytest.raises(RuntimeError, match=message):
            sgd_step_(*wrong)


@pytest.mark.parametrize("device", DEVICES)
def test_the_operators_contract(device: str) -> None:
    weights, gradients = (randoms(6, dtype=torch.float32, device=device, seed=seed) for seed in (1, 2))
    operator = torch.ops.sweeper.sgd_step_
    torch.library.opcheck(operator, (weights, gradients, torch.zeros_like(weights), numbers(0.1, 0.9, 0.1, device)))
    torch.library.opcheck(operator, (weights, gradients, None, numbers(0.1, 0.0, 0.0, device)))


@pytest.mark.skipif(len(DEVICES) < 2 or not torch.cuda.is_available(), reason="no GPU")
def test_a_recorded_step_takes_the_numbers_of_its_replay() -> None:
    weights, gradients = torch.ones(100, device="cuda"), torch.ones(100, device="cuda")
    values = numbers(0.5, 0.0, 0.0, "cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        sgd_step_(weights, gradients, None, values)
    graph.replay()
    values[0].fill_(0.25)
    graph.replay()
    assert (weights == 0.25).all()
