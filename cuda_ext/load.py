"""Loads the compiled operators, or says what to do where it cannot."""

from __future__ import annotations

import functools

import torch

from cuda_ext import artifact

REMEDY = "run `python -m cuda_ext.build`"


class ExtensionError(RuntimeError):
    """The compiled operators are missing, stale, damaged, or lack what the tensors need. `remedy` says what mends it."""

    def __init__(self, problem: str, remedy: str = REMEDY) -> None:
        super().__init__(f"{problem}: {remedy}")
        self.problem = problem
        self.remedy = remedy


@functools.cache
def load_operators() -> artifact.Built:
    """Load the operators into torch, once a process; nothing is ever built here.

    Raises:
        ExtensionError: there is no library, or it was built from other sources or for another torch, or does not load.
    """
    library, note = artifact.HERE / artifact.LIBRARY, artifact.read_note()
    if not library.exists() or note is None:
        raise ExtensionError("the compiled operators are missing")
    if note.torch != torch.__version__:
        raise ExtensionError(f"the compiled operators are for torch {note.torch}, and torch is {torch.__version__}")
    if note.sources != artifact.source_digest():
        raise ExtensionError("the compiled operators are older than their sources")
    try:
        torch.ops.load_library(str(library))
    except OSError as error:
        raise ExtensionError(f"the compiled operators do not load ({error})") from error
    return note
