"""Networks whose kernels torch.compile makes."""

from __future__ import annotations

import shutil
from typing import cast

import torch
from torch import nn

from engine.errors import ClearError


class CompileError(ClearError):
    """torch.compile has no compiler here."""

    kind = "compile"


def compiled(module: nn.Module) -> nn.Module:
    """`module` with kernels made for the one shape that full steps have; the parameters are shared.

    Raises:
        CompileError: there is no C++ compiler, which kernels for the CPU, and launchers of those for a GPU, need.
    """
    if not any(shutil.which(name) for name in ("c++", "g++", "clang++")):
        raise CompileError("trial.compile: true, and no C++ compiler is there", "install g++, or leave it false")
    torch._dynamo.reset()  # what earlier trials compiled counts against a limit
    return cast(nn.Module, torch.compile(module, dynamic=False))
