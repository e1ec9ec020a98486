"""What the hardware allows: data sheets' peaks of the GPUs that the study knows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Peaks of a GPU without sparsity: memory in GB/s, products in TFLOP/s by type."""

    name: str
    memory: float
    products: dict[str, float]


_TENSOR_CORES = {"tf32": 494.7, "bf16": 989.4}  # of Hopper in its SXM form
_KNOWN = (
    Limits("H200", 4800.0, _TENSOR_CORES),
    Limits("H100", 3350.0, _TENSOR_CORES),
    Limits("A100", 2039.0, {"tf32": 156.0, "bf16": 312.0}),
)


def limits_of(hardware: str) -> Limits | None:
    """The limits of the GPU that a row's `hardware` names; None for others, and for CPUs."""
    return next((one for one in _KNOWN if one.name in hardware), None)
