"""Whether the compiled operators are there, told without loading them or torch."""

from __future__ import annotations

from cuda_ext import artifact
from engine.config import MODELS, TrainingConfig
from engine.errors import ClearError


class OperatorsError(ClearError):
    """The compiled operators are missing or stale."""

    kind = "operators"


def needs_operators(config: TrainingConfig) -> bool:
    """Whether a run of `config` computes by the compiled operators; parts of layers do not."""
    return config.fc == "fused" and config.parallel.channels == 1 and MODELS.get(config.model, False)


def check_operators(cuda: bool = False) -> None:
    """Raises OperatorsError unless the compiled operators can be loaded, with CUDA kernels where `cuda` is set."""
    if problem := artifact.problem():
        raise OperatorsError(problem, f"{artifact.REMEDY}, or set trial.fc to torch")
    note = artifact.read_note()
    if cuda and note is not None and not note.cuda:
        raise OperatorsError(
            "the compiled operators have no CUDA kernels, and the trial is to run on a GPU",
            "install nvcc and run `python -m cuda_ext.build --cuda`, or set trial.fc to torch",
        )
