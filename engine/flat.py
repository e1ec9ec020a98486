"""A network's weights and gradients as two flat buffers, so that an exchange is one message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


class FlatParameters:
    """The parameters that a module learns, in one buffer each for weights and gradients, of which they become views.

    `weights` and `gradients` are [count] on the module's device; `spans` says where each parameter lies in them, and
    `orders` in which order its dimensions do.
    `on_host` is the same memory on the CPU; on a GPU it is a copy, moved by `to_host` and `from_host`. Parameters that
    do not require gradients stay as they are.

    Raises:
        ValueError: parameters of different types or on different devices.
    """

    def __init__(self, module: nn.Module) -> None:
        parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        kinds = {(parameter.dtype, parameter.device) for parameter in parameters}
        if len(kinds) != 1:
            raise ValueError(f"parameters must share one type and device, got {kinds or 'none'}")
        values = [parameter.detach().permute(_memory_order(parameter)).reshape(-1) for parameter in parameters]
        self.weights = torch.cat(values)
        self.gradients = torch.zeros_like(self.weights)
        self.spans: list[tuple[int, int]] = []
        self._parameters = parameters
        self.orders: list[list[int]] = []
        self._computing = self._watched = False
        start = 0
        for parameter in parameters:
            stop = start + parameter.numel()
            order = _memory_order(parameter)
            parameter.data, parameter.grad = (
                _view(buffer[start:stop], parameter.shape, order) for buffer in (self.weights, self.gradients)
            )
            self.orders.append(order)
            self.spans.append((start, stop))
            start = stop
        self._host = {name: _host_buffer(tensor) for name, tensor in self._named().items()}

    def __len__(self) -> int:
        return self.weights.numel()

    def compute_gradients(self, loss: Tensor, scale: Tensor) -> None:
        """The gradients of `loss` times `scale`, both scalars, replace those in the buffer.

        Those of parameters that the loss does not depend on become zero.
        """
        scaled: Tensor = _Scaled.apply(loss, scale)  # type: ignore[no-untyped-call]
        if not self._watched:
            computed = torch.autograd.grad(scaled, self._parameters, materialize_grads=True)
            lying = (gradient.permute(order) for gradient, order in zip(computed, self.orders, strict=True))
            torch.cat([gradient.reshape(-1) for gradient in lying], out=self.gradients)
            return
        self.gradients.zero_()
        self._computing = True
        try:
            torch.autograd.backward(scaled)
        finally:
            self._computing = False

    def watch(self, completed: Callable[[int], None]) -> None:
        """Have `compute_gradients` call `completed(n)` as soon as the gradient in `spans[n]` is what it will be.

        The calls come while the gradients of earlier layers are still computed, on a GPU from another thread; none
        comes for a parameter that the loss does not depend on. Other ways of computing gradients make no calls.
        """

        def hook(number: int) -> Callable[[Tensor], None]:
            def accumulated(_: Tensor) -> None:
                if self._computing:
                    completed(number)

            return accumulated

        self._watched = True
        for number, parameter in enumerate(self._parameters):
            parameter.register_post_accumulate_grad_hook(hook(number))  # type: ignore[no-untyped-call]

    def on_device(self, name: str) -> Tensor:
        """ "weights" or "gradients" [count] where the module computes."""
        return self._named()[name]

    def on_host(self, name: str) -> Tensor:
        """The host's memory for "weights" or "gradients" [count]; on the CPU they themselves."""
        return self._host[name]

    def to_host(self, name: str) -> None:
        """Copy "weights" or "gradients" to the host array; nothing to do on the CPU."""
        if self.weights.device.type != "cpu":
            self._host[name].copy_(self._named()[name])

    def from_host(self, name: str) -> None:
        """Copy the host array back to "weights" or "gradients"; nothing to do on the CPU."""
        if self.weights.device.type != "cpu":
            self._named()[name].copy_(self._host[name])

    def _named(self) -> dict[str, Tensor]:
        return {"weights": self.weights, "gradients": self.gradients}


class _Scaled(torch.autograd.Function):
    """A scalar whose own gradient, which is one, becomes `scale`.

    As `grad_outputs` would have it, for which torch imports a package for algebra: half a second and more.
    """

    @staticmethod
    def forward(ctx: Any, loss: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(scale)
        return loss.view_as(loss)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, _: Tensor) -> tuple[Tensor, None]:
        (scale,) = ctx.saved_tensors
        return scale, None


def _memory_order(tensor: Tensor) -> list[int]:
    """The dimensions from the outermost in memory to the innermost: a layer may be stored by columns."""
    strides = tensor.stride()
    return sorted(range(tensor.dim()), key=lambda dim: (-strides[dim], dim))


def _view(part: Tensor, shape: torch.Size, order: list[int]) -> Tensor:
    """`part` [count] as a tensor of `shape` whose dimensions lie in memory in `order`."""
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return part.view([shape[dim] for dim in order]).permute(inverse)


def _host_buffer(tensor: Tensor) -> Tensor:
    if tensor.device.type == "cpu":
        return tensor
    return torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
