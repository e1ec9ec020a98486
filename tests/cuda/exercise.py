"""The GPU kernels, each a few times, for `compute-sanitizer`: `python -m tests.cuda.exercise`."""

from __future__ import annotations

import sys
from itertools import pairwise

import torch

from cuda_ext import fused_linear, fused_mlp, reference, relu_avg_pool, shift_left_, shift_right_
from tests.cuda_ext.devices import randoms
from tests.cuda_ext.test_dense import augmented_weight

# One tile and many, and matrices past what one tile a block holds, of rows of less than a vector, less than a tile, and
# more than one.
SHIFTS = [(7, 1), (1, 9), (130, 129), (5000, 3), (700, 1100), (2_800_000, 2), (9000, 1200), (900, 10_000)]
STACKS = [
    ((576, 64, 32, 10), ("relu", "relu", "none")),
    ((33, 17, 9), ("gelu", "sigmoid")),
    ((64, 32), ("relu",)),
    ((300, 260), ("relu",)),
    ((400, 131), ("sigmoid",)),
    ((64, 2100), ("gelu",)),
]
TURNED = ((2600, 2600), ("relu",))  # large enough for a gradient that is written the other way round, too


def shifts(dtype: torch.dtype) -> int:
    """How many shifts went wrong."""
    wrong = 0
    for rows, cols in SHIFTS:
        for offset in (0, 1):
            for ours, theirs in ((shift_right_, reference.shift_right_), (shift_left_, reference.shift_left_)):
                result = randoms(offset + rows * (cols + 1), dtype=dtype, device="cuda")
                expected = result.clone()
                ours(result[offset:], rows, cols)
                theirs(expected[offset:], rows, cols)
                wrong += not torch.equal(result, expected)
                if rows <= cols + 1:
                    ours(result[offset:], rows, cols, algorithm="paper")
    return wrong


def stacks(dtype: torch.dtype) -> int:
    """How many stacks gave something that is not a number."""
    wrong = 0
    for widths, activations in [*STACKS, TURNED] if dtype == torch.float32 else STACKS:
        for rows in (1, 67, 300) if max(widths) < 1000 else (widths[-1],):
            weights = [augmented_weight(o, i, dtype, "cuda").requires_grad_() for i, o in pairwise(widths)]
            x = randoms(rows, widths[0], dtype=dtype, device="cuda").requires_grad_()
            alone = len(weights) == 1
            output = fused_linear(x, weights[0], activations[0]) if alone else fused_mlp(x, weights, activations)
            results = torch.autograd.grad(output, (x, *weights), torch.randn_like(output))
            wrong += not all(bool(result.isfinite().all()) for result in results)
    return wrong


def pools(dtype: torch.dtype) -> int:
    """How many pooled ReLUs gave something that is not a number."""
    wrong = 0
    for shape in ((7, 32, 15, 15), (3, 5, 8, 6), (2, 300, 5, 5)):
        for size, stride in ((3, 2), (2, 2), (1, 3)):
            x = randoms(*shape, dtype=dtype, device="cuda").contiguous(memory_format=torch.channels_last)
            bias = randoms(shape[1], dtype=dtype, device="cuda", seed=1).requires_grad_()
            output = relu_avg_pool(x.requires_grad_(), bias, size, stride)
            results = torch.autograd.grad(output, (x, bias), torch.randn_like(output))
            wrong += not all(bool(result.isfinite().all()) for result in results)
    return wrong


def main() -> int:
    """Run all; the exit code says whether all went right."""
    torch.backends.cuda.matmul.allow_tf32 = True
    wrong = sum(
        shifts(dtype) + stacks(dtype) + pools(dtype)
        for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64)
    )
    torch.cuda.synchronize()
    sys.stdout.write(f"{wrong} wrong\n")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
