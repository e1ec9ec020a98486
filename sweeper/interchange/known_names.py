"""What other programs call parameters and metrics that have a place here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from sweeper.interchange.parameters import number_or_text
from sweeper.spec.axes import WORKERS

# By their own names, as `_plain` writes them.
_PARAMETERS = {
    WORKERS: (WORKERS, "world_size", "num_processes", "nproc", "n_workers", "ranks", "num_ranks", "num_replicas"),
    "batch_size": ("batch_size", "batchsize", "per_device_train_batch_size", "train_batch_size", "batch"),
    "global_batch_size": ("global_batch_size", "total_batch_size"),
    "learning_rate": ("learning_rate", "lr", "learningrate"),
}
_OWN = {theirs: ours for ours, names in _PARAMETERS.items() for theirs in names}
_EVALUATIONS = ("test", "eval", "evaluation", "val", "valid", "validation", "dev")
_ACCURACIES = (
    *(f"{of}_{word}" for of in _EVALUATIONS for word in ("accuracy", "acc", "epoch_accuracy")),
    *("accuracy", "acc", "epoch_accuracy"),
)
_TEST_LOSSES = tuple(f"{of}_{word}" for of in _EVALUATIONS for word in ("loss", "epoch_loss"))


def own_parameters(theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters by our names where they have one, texts that are numbers as these; the first of several stays."""
    found: dict[str, Any] = {}
    for name, value in theirs.items():
        own = _OWN.get(_plain(name), name)
        found[name if own in found else own] = number_or_text(value) if isinstance(value, str) else value
    return found


def is_parameter(name: str) -> bool:
    """Whether a name is one that a parameter here has there."""
    return _plain(name) in _OWN


def accuracy_name(metrics: Iterable[str]) -> str | None:
    """The metric that is an accuracy on data that is not trained on, as far as its name tells."""
    return _first(metrics, _ACCURACIES)


def test_loss_name(metrics: Iterable[str]) -> str | None:
    """The metric that is a loss on such data."""
    return _first(metrics, _TEST_LOSSES)


def _first(metrics: Iterable[str], wanted: tuple[str, ...]) -> str | None:
    by_plain = {_plain(name): name for name in metrics}
    return next((by_plain[name] for name in wanted if name in by_plain), None)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name.casefold()).strip("_")
