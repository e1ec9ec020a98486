"""Sums over ranks inside a network: what is summed on the way forward, and what on the way back."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from engine.channel_parallel.collectives import Group


def sum_of_parts(values: Tensor, group: Group) -> Tensor:
    """The sum of all ranks' `values`, for ranks that all compute the same from it.

    Back, each has the whole gradient already.
    """
    return _sum(values, group, forward=True, backward=False)


def with_summed_gradient(values: Tensor, group: Group) -> Tensor:
    """`values`, which all ranks have alike and each uses for samples of its own; back, their gradients are summed."""
    return _sum(values, group, forward=False, backward=True)


def sum_over_samples(values: Tensor, group: Group) -> Tensor:
    """The sum of all ranks' `values`, which each uses for samples of its own; back, the gradients are summed."""
    return _sum(values, group, forward=True, backward=True)


def _sum(values: Tensor, group: Group, *, forward: bool, backward: bool) -> Tensor:
    if group.size == 1:
        return values
    summed: Tensor = _Sum.apply(values, group, forward, backward)  # type: ignore[no-untyped-call]
    return summed


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, group: Group, forward: bool, backward: bool) -> Tensor:
        ctx.group, ctx.sums = group, backward
        return _summed(values, group) if forward else values.view_as(values)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        return _summed(grad, ctx.group) if ctx.sums else grad, None, None, None


def _summed(values: Tensor, group: Group) -> Tensor:
    copy = values.clone(memory_format=torch.contiguous_format)
    group.all_reduce(copy.view(-1), "layers").wait()
    return copy
