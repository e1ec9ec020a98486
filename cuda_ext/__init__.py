"""Operators of the training core in C++ and CUDA: realignment in place; layers, pooling and SGD in fused passes.

The names below load torch and the compiled operators when first used; `cuda_ext.build` needs neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cuda_ext.load import ExtensionError
    from cuda_ext.modules import FusedLinear, FusedMLP
    from cuda_ext.ops import (
        augmented,
        empty_augmented,
        fused_linear,
        fused_mlp,
        maps_weight_gradient,
        picture_conv,
        relu_avg_pool,
        sgd_step_,
        shift_left,
        shift_left_,
        shift_right,
        shift_right_,
    )

__all__ = [
    "ExtensionError",
    "FusedLinear",
    "FusedMLP",
    "augmented",
    "empty_augmented",
    "fused_linear",
    "fused_mlp",
    "maps_weight_gradient",
    "picture_conv",
    "relu_avg_pool",
    "sgd_step_",
    "shift_left",
    "shift_left_",
    "shift_right",
    "shift_right_",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'cuda_ext' has no attribute {name!r}")
    from importlib import import_module

    home = {"ExtensionError": "load", "FusedLinear": "modules", "FusedMLP": "modules"}.get(name, "ops")
    return getattr(import_module(f"cuda_ext.{home}"), name)
