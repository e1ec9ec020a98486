"""Made-up data that can be learnt: pictures of ten noisy patterns, and the step function of the paper's section 3."""

from __future__ import annotations

import numpy as np

from engine.data.base import DataSet

PICTURES = "synthetic"
LARGE_PICTURES = "synthetic-224"
STEP_FUNCTION = "step-function"
_SEEDS = {"train": 1, "test": 2}
_SAMPLES = {"train": 10_240, "test": 2_048}
_LARGE_SAMPLES = {"train": 1_024, "test": 256}
_CLASSES = 10
_COARSE = 4  # each pattern is 4 x 4 fields
_NOISE = 48.0  # standard deviation, of 255
_AT_ONCE = 16  # pictures, which processors have in their caches


def load_pictures(split: str) -> DataSet:
    """10,240 or 2,048 colour pictures [3, 32, 32] in 10 classes: the class's pattern under noise; always the same."""
    return _pictures(PICTURES, split, _SAMPLES[split], 32)


def load_large_pictures(split: str) -> DataSet:
    """1,024 or 256 colour pictures [3, 224, 224], made like the small ones: for networks that take no less."""
    return _pictures(LARGE_PICTURES, split, _LARGE_SAMPLES[split], 224)


def _pictures(name: str, split: str, samples: int, side: int) -> DataSet:
    patterns = np.random.default_rng(0).uniform(64, 192, (_CLASSES, 3, _COARSE, _COARSE))
    patterns = patterns.repeat(side // _COARSE, axis=2).repeat(side // _COARSE, axis=3)
    random = np.random.default_rng(_SEEDS[split])
    targets = random.integers(0, _CLASSES, samples)
    inputs = np.empty((samples, *patterns.shape[1:]), np.uint8)
    for first in range(0, samples, _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        pictures = patterns[targets[some]]
        pictures += random.standard_normal(pictures.shape, dtype=np.float32) * _NOISE
        inputs[some] = pictures.clip(0, 255, out=pictures)
    return DataSet(name, inputs, targets, _CLASSES, mean=(0.5,) * 3, std=(0.25,) * 3)


def load_step_function(split: str) -> DataSet:
    """10,240 or 2,048 numbers x in [0, 1), each with 1 where x >= 0.5 and 0 elsewhere (paper, equation 3.1)."""
    inputs = np.random.default_rng(_SEEDS[split]).random((_SAMPLES[split], 1), dtype=np.float32)
    return DataSet(STEP_FUNCTION, inputs, (inputs >= 0.5).astype(np.float32), classes=1)
