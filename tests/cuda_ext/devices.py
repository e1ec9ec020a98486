"""Where the operators' tests run, and how near a result must be."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from cuda_ext.load import load_operators

_GPU = torch.cuda.is_available() and load_operators().cuda
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not _GPU, reason="no GPU, or operators without CUDA"))]
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
# Of ||out - exact|| / ||exact||, exact in float64: a few roundings of each type.
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: 1e-2, torch.float16: 2e-3}


def assert_near(result: Tensor, exact: Tensor, dtype: torch.dtype, plain: Tensor | None = None) -> None:
    """Same shape, no NaN, and near in norm; `plain`, torch's own result in that type, may be off as far itself."""
    assert result.shape == exact.shape
    assert result.dtype == dtype
    exact = exact.double()
    allowed = TOLERANCE[dtype] * exact.norm()
    if plain is not None:
        allowed += 2 * (plain.double() - exact).norm()
    assert (result.double() - exact).norm() <= allowed


def randoms(*shape: int, dtype: torch.dtype, device: str, seed: int = 0) -> Tensor:
    """Standard normal values that depend on the seed alone."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(device, dtype)
