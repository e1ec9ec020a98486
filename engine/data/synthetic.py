"""Made-up data that can be learnt: pictures of ten noisy patterns, and the step function of the paper's section 3."""

from __future__ import annotations

import numpy as np

from engine.data.base import DataSet

PICTURES = "synthetic"
STEP_FUNCTION = "step-function"
_SEEDS = {"train": 1, "test": 2}
_SAMPLES = {"train": 10_240, "test": 2_048}
_CLASSES = 10
_COARSE, _FINE = 4, 8  # each pattern is 4 x 4 fields of 8 x 8 pixels
_NOISE = 48.0  # standard deviation, of 255


def load_pictures(split: str) -> DataSet:
    """10,240 or 2,048 colour pictures [3, 32, 32] in 10 classes: the class's pattern under noise; always the same."""
    patterns = np.random.default_rng(0).uniform(64, 192, (_CLASSES, 3, _COARSE, _COARSE))
    patterns = patterns.repeat(_FINE, axis=2).repeat(_FINE, axis=3)
    random = np.random.default_rng(_SEEDS[split])
    targets = random.integers(0, _CLASSES, _SAMPLES[split])
    noise = random.standard_normal((len(targets), *patterns.shape[1:]), dtype=np.float32) * _NOISE
    inputs = (patterns[targets] + noise).clip(0, 255).astype(np.uint8)
    return DataSet(PICTURES, inputs, targets, _CLASSES, mean=(0.5,) * 3, std=(0.25,) * 3)


def load_step_function(split: str) -> DataSet:
    """10,240 or 2,048 numbers x in [0, 1), each with 1 where x >= 0.5 and 0 elsewhere (paper, equation 3.1)."""
    inputs = np.random.default_rng(_SEEDS[split]).random((_SAMPLES[split], 1), dtype=np.float32)
    return DataSet(STEP_FUNCTION, inputs, (inputs >= 0.5).astype(np.float32), classes=1)
