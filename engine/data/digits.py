"""Handwritten digits (Alpaydin, Kaynak 1998), inside scikit-learn: real, small, always there."""

from __future__ import annotations

import numpy as np

from engine.data.base import DataSet

NAME = "digits"
_ENLARGED = 4  # 8 x 8 pixels become 32 x 32, so that every picture model takes them
_TEST_SHARE = 6  # one sample in six is for testing


def load(split: str) -> DataSet:
    """1,497 pictures for training or 300 for testing, 32 x 32, grey, 10 classes."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    testing = np.arange(len(digits.target)) % _TEST_SHARE == 0
    chosen = testing if split == "test" else ~testing
    pixels = (digits.images[chosen] * (255 / 16)).round().astype(np.uint8)
    enlarged = pixels.repeat(_ENLARGED, axis=1).repeat(_ENLARGED, axis=2)
    return DataSet(
        NAME, enlarged[:, None], digits.target[chosen].astype(np.int64), classes=10, mean=(0.306,), std=(0.376,)
    )
