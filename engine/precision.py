"""How products are computed: float32, tf32, or bfloat16 under autocast; weights and sums stay float32."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch

_AMPERE = (8, 0)  # the first GPUs with tf32 and bfloat16 units
_CPU_FLAGS = ("avx512_bf16", "amx_bf16", "bf16")  # as Linux names them on x86-64 and on Arm


def choose_precision(wanted: str, device: torch.device) -> str:
    """What `wanted` comes to on `device`: "float32", "tf32" or "bf16".

    "auto" is bf16 where the processor multiplies in it, and else, like "tf32", tf32 on GPUs that have it.
    """
    on_gpu = device.type == "cuda"
    recent = has_tf32(device)
    if wanted == "auto":
        wanted = "bf16" if recent or (not on_gpu and cpu_multiplies_bf16()) else "tf32"
    return "float32" if wanted == "tf32" and not recent else wanted


def has_tf32(device: torch.device) -> bool:
    """Whether this is a GPU that multiplies in tf32, and so in bfloat16 too."""
    return device.type == "cuda" and torch.cuda.get_device_capability(device) >= _AMPERE


def cpu_multiplies_bf16(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether this processor has instructions for products in bfloat16; False where that cannot be found out."""
    try:
        lines = cpuinfo.read_text().splitlines()
    except OSError:
        return False
    flags = next((line for line in lines if line.lower().startswith(("flags", "features"))), "")
    return any(flag in flags.split() for flag in _CPU_FLAGS)


def set_products(precision: str) -> None:
    """Let float32 products on a GPU be computed in tf32, or not."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"


def casting(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """The context for a forward pass."""
    return torch.autocast(device.type, torch.bfloat16) if precision == "bf16" else nullcontext()
