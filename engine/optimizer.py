"""Stochastic gradient descent over the flat parameters."""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor

import cuda_ext
from engine.flat import FlatParameters


class Optimizer(Protocol):
    """What applies the gradients to the weights: an exchange calls it, and knows no more of it."""

    def step(self) -> object:
        """Apply the gradients in the flat buffer; on a GPU this waits for nothing."""


class Sgd:
    """g' = g + decay * w; v = momentum * v + g'; w = w - rate * v: torch's SGD, without dampening.

    The velocity v begins as zeros, which gives what torch does in making it of the first gradient, and lets a captured
    step be the first. On a GPU the three numbers lie there, so that they may change between captured steps; the
    compiled operators do it in one pass (`fused`). `torch.optim` is left out: to make one of its optimizers takes two
    seconds, in which it imports a compiler.
    """

    def __init__(self, flat: FlatParameters, *, momentum: bool, fused: bool = False) -> None:
        self._weights, self._gradients = flat.weights, flat.gradients
        self.velocity = torch.zeros_like(flat.weights) if momentum else None
        self._on_gpu, self._fused = flat.weights.device.type == "cuda", fused
        self._rate, self._momentum, self._decay = math.nan, 0.0, 0.0
        self._numbers = torch.zeros(3, dtype=torch.float64, device=flat.weights.device)  # these three

    def begin(self, momentum: float, decay: float) -> None:
        """Be as new, for a run of this momentum and weight decay, whose rate is to be set."""
        self._rate, self._momentum, self._decay = math.nan, momentum, decay
        self._numbers[1].fill_(momentum)
        self._numbers[2].fill_(decay)
        if self.velocity is not None:
            self.velocity.zero_()

    def set_rate(self, rate: float) -> None:
        """The learning rate of the steps that follow; waits for nothing."""
        if rate != self._rate:
            self._rate = rate
            self._numbers[0].fill_(rate)

    def state(self) -> list[Tensor]:
        """What is kept from step to step."""
        return [] if self.velocity is None else [self.velocity]

    def step(self) -> None:
        """See `Optimizer.step`."""
        if not self._on_gpu:
            self._step_on_cpu()
        elif self._fused:
            cuda_ext.sgd_step_(self._weights, self._gradients, self.velocity, self._numbers)
        else:
            self._step_by_torch()

    def _step_on_cpu(self) -> None:
        gradient = self._gradients
        if self._decay:
            gradient = gradient.add(self._weights, alpha=self._decay)
        if self.velocity is not None:
            gradient = self.velocity.mul_(self._momentum).add_(gradient)
        self._weights.add_(gradient, alpha=-self._rate)

    def _step_by_torch(self) -> None:
        """A pass for each of the three, by numbers on the GPU."""
        rate, momentum, decay = self._numbers.to(self._weights.dtype)
        gradient = torch.addcmul(self._gradients, self._weights, decay)
        if self.velocity is not None:
            gradient = torch.addcmul(gradient, self.velocity, momentum, out=self.velocity)
        self._weights.addcmul_(gradient, rate, value=-1.0)
