"""Loads the compiled operators, or says what to do where it cannot."""

from __future__ import annotations

import functools

import torch

from cuda_ext import artifact


class ExtensionError(RuntimeError):
    """The compiled operators are missing, stale or damaged, or lack what the tensors need; `remedy` mends it."""

    def __init__(self, problem: str, remedy: str = artifact.REMEDY) -> None:
        super().__init__(f"{problem}: {remedy}")
        self.problem = problem
        self.remedy = remedy


@functools.cache
def load_operators() -> artifact.Built:
    """Load the operators into torch, once a process; nothing is ever built here.

    Raises:
        ExtensionError: there is no library, or it was built from other sources or for another torch, or does not load.
    """
    problem, note = artifact.problem(), artifact.read_note()
    if problem or note is None:
        raise ExtensionError(problem or "the compiled operators are missing")
    try:
        torch.ops.load_library(str(artifact.HERE / artifact.LIBRARY))
    except OSError as error:
        raise ExtensionError(f"the compiled operators do not load ({error})") from error
    return note
