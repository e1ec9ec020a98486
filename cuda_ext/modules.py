"""Fully connected layers as modules: they hold the augmented matrix, and load and save as `nn.Linear` does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from cuda_ext.ops import ACTIVATIONS, fused_linear, fused_mlp


class FusedLinear(nn.Module):
    """A fully connected layer with its activation: activation([1, x] weight^T), x [..., inputs] to [..., outputs].

    `weight` is the parameter, [outputs, 1 + inputs] with the bias first. A state dict has nn.Linear's `weight`
    [outputs, inputs] and `bias` [outputs] instead, so that either module reads what the other wrote. Initial values are
    those of an nn.Linear made at the same place.

    Raises:
        ValueError: an unknown activation.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        activation: str = "none",
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"expected activation {', '.join(ACTIVATIONS)}, got {activation!r}")
        self.inputs, self.outputs, self.activation = inputs, outputs, activation
        initial = nn.Linear(inputs, outputs, device=device, dtype=dtype)
        self.weight = nn.Parameter(augmented(initial.weight.detach(), initial.bias.detach()))
        self.register_state_dict_post_hook(_split)
        self.register_load_state_dict_pre_hook(_join)

    @classmethod
    def from_linear(cls, linear: nn.Linear, activation: str = "none") -> FusedLinear:
        """A layer with a copy of an nn.Linear's values; a missing bias becomes zeros."""
        with torch.device("meta"):
            made = cls(linear.in_features, linear.out_features, activation)
        bias = linear.weight.new_zeros(linear.out_features) if linear.bias is None else linear.bias.detach()
        made.weight = nn.Parameter(augmented(linear.weight.detach(), bias))
        return made

    def to_linear(self) -> nn.Linear:
        """An nn.Linear with a copy of this layer's values; the activation is left out."""
        linear = nn.Linear(self.inputs, self.outputs, device="meta", dtype=self.weight.dtype)
        linear.weight = nn.Parameter(self.weight.detach()[:, 1:].contiguous())
        linear.bias = nn.Parameter(self.weight.detach()[:, 0].contiguous())
        return linear

    def forward(self, x: Tensor) -> Tensor:
        """[..., outputs]."""
        return fused_linear(x, self.weight, self.activation)

    def extra_repr(self) -> str:
        """What a printed module shows."""
        return f"{self.inputs}, {self.outputs}, activation={self.activation!r}"


class FusedMLP(nn.Sequential):
    """A stack of `FusedLinear` as one operator, `activation` between the layers and `last` after the last one.

    Its parts are numbered from 0 as an nn.Sequential's are; `from_layers` makes it of an nn.Sequential of nn.Linear and
    nn.ReLU, nn.GELU(approximate="tanh") or nn.Sigmoid.

    Raises:
        ValueError: fewer than two widths, or an unknown activation.
    """

    def __init__(
        self,
        widths: Sequence[int],
        activation: str = "relu",
        last: str = "none",
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if len(widths) < 2:
            raise ValueError(f"expected the widths of inputs and outputs at least, got {list(widths)}")
        kinds = [activation] * (len(widths) - 2) + [last]
        super().__init__(
            *(
                FusedLinear(inputs, outputs, kind, device=device, dtype=dtype)
                for inputs, outputs, kind in zip(widths, widths[1:], kinds, strict=False)
            )
        )

    @classmethod
    def from_layers(cls, layers: Iterable[nn.Module]) -> FusedMLP:
        """A stack with copies of the values of nn.Linear modules, each followed by an activation or none."""
        parts: list[FusedLinear] = []
        for layer in layers:
            if isinstance(layer, nn.Linear):
                parts.append(FusedLinear.from_linear(layer))
            elif parts and parts[-1].activation == "none":
                parts[-1].activation = _activation_of(layer)
            else:
                raise ValueError(f"expected an nn.Linear before {layer}")
        if not parts:
            raise ValueError("expected at least one nn.Linear")
        made = cls.__new__(cls)
        nn.Sequential.__init__(made, *parts)
        return made

    def forward(self, x: Tensor) -> Tensor:
        """[..., outputs]."""
        layers = [layer for layer in self if isinstance(layer, FusedLinear)]
        return fused_mlp(x, [layer.weight for layer in layers], [layer.activation for layer in layers])


def augmented(weight: Tensor, bias: Tensor) -> Tensor:
    """[outputs, 1 + inputs] of an nn.Linear's weight [outputs, inputs] and bias [outputs], by columns.

    As `empty_augmented` has it, but with no padding between columns: optimisers want a parameter's memory without gaps.
    Where 16 bytes do not divide a column of `outputs` elements, as with ten classes, products are a little slower.
    """
    outputs, inputs = weight.shape
    made = torch.empty(1 + inputs, outputs, dtype=weight.dtype, device=weight.device).t()
    made[:, 0] = bias
    made[:, 1:] = weight
    return made


def _activation_of(layer: nn.Module) -> str:
    match layer:
        case nn.ReLU():
            return "relu"
        case nn.Sigmoid():
            return "sigmoid"
        case nn.GELU(approximate="tanh"):
            return "gelu"
        case nn.Identity():
            return "none"
    raise ValueError(f"expected nn.ReLU, nn.GELU(approximate='tanh'), nn.Sigmoid or nn.Identity, got {layer}")


def _split(_: nn.Module, state: dict[str, Any], prefix: str, __: Any) -> None:
    both = state[f"{prefix}weight"]
    state[f"{prefix}weight"], state[f"{prefix}bias"] = both[:, 1:], both[:, 0]


def _join(
    _: nn.Module,
    state: dict[str, Any],
    prefix: str,
    __: Any,
    ___: bool,
    missing: list[str],
    ____: list[str],
    errors: list[str],
) -> None:
    weight, bias = state.get(f"{prefix}weight"), state.pop(f"{prefix}bias", None)
    if weight is None:
        return
    if bias is None:
        missing.append(f"{prefix}bias")
    elif weight.dim() == 2 and bias.shape == weight.shape[:1]:
        state[f"{prefix}weight"] = augmented(weight, bias)
    else:
        errors.append(f"size mismatch for {prefix}bias: {list(bias.shape)} does not fit a weight {list(weight.shape)}")
