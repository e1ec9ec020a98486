"""The id of a trial: a digest of what decides its result."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from engine.config import AugmentationConfig, ParallelConfig, ScheduleConfig, TrainingConfig
from sweeper.spec import Resources
from sweeper.spec.command import CommandConfig

_KEY_LENGTH = 12
# What trials were before a field gave the choice: with these values they keep the keys that stores hold.
_BEFORE_THE_CHOICE: dict[str, Any] = {
    "fc": "torch",
    "epochs": None,
    "steps": None,
    "exchange.every": 1,
    "exchange.start": "shared",
    "exchange.overlap": "auto",
    "exchange.algorithm": "auto",
    "parallel": ParallelConfig().model_dump(mode="json"),
    "schedule": ScheduleConfig().model_dump(mode="json"),
    "precision": "tf32",
    "augmentation": AugmentationConfig().model_dump(mode="json", exclude={"batch"}),
    "evaluate_every": None,
    "checkpoint_every": None,
    "compile": False,
    "phases": "coarse",
}


def content_key(config: TrainingConfig | CommandConfig, workers: int, resources: Resources) -> str:
    """A digest of what decides a trial's result, defaults included: a changed default is another trial."""
    return digest(canonical(content(config, workers, resources)))


def content(config: TrainingConfig | CommandConfig, workers: int, resources: Resources) -> dict[str, Any]:
    """What decides a trial's result."""
    # A price changes no result. What is packed goes by the key that it had before there was a choice.
    left_out = {"dollars_per_worker_hour"} | ({"placement"} if resources.placement == "pack" else set())
    gets = resources.model_dump(mode="json", exclude=left_out)
    return {"config": effective(config, workers), "workers": workers, "resources": gets}


def canonical(content: dict[str, Any]) -> str:
    """The one text of a content."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def digest(text: str) -> str:
    """A trial's key, from the text of its content."""
    return hashlib.sha256(text.encode()).hexdigest()[:_KEY_LENGTH]


def effective(config: TrainingConfig | CommandConfig, workers: int) -> dict[str, Any]:
    """What of a config decides a trial's result, with the global batch; what stood for itself before is left out."""
    if isinstance(config, CommandConfig):
        # Without patterns it keeps the key that it had before there were any.
        return config.model_dump(mode="json", exclude={"folder"} | (set() if config.report else {"report"}))
    found: dict[str, Any] = {
        **config.model_dump(mode="json"),
        "global_batch_size": config.global_batch(workers),
        "batch_size": None,
    }
    augmentation = found["augmentation"]
    if augmentation["instances"] == 1 or augmentation["batch"] == "instances":
        del augmentation["batch"]
    for path, value in _BEFORE_THE_CHOICE.items():
        *parents, leaf = path.split(".")
        place: dict[str, Any] = found
        for parent in parents:
            place = place[parent]
        if place[leaf] == value:
            del place[leaf]
    return found
