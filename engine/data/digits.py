"""Handwritten digits (Alpaydin, Kaynak 1998), inside scikit-learn: real, small, always there."""

from __future__ import annotations

from importlib.metadata import distribution

import numpy as np

from engine.data.base import DataSet

NAME = "digits"
_SIDE = 8
_ENLARGED = 4  # 8 x 8 pixels become 32 x 32, so that every picture model takes them
_TEST_SHARE = 6  # one sample in six is for testing


def load(split: str) -> DataSet:
    """1,497 pictures for training or 300 for testing, 32 x 32, grey, 10 classes."""
    table = np.loadtxt(_file(), delimiter=",")
    images, labels = table[:, :-1].reshape(-1, _SIDE, _SIDE), table[:, -1].astype(np.int64)
    testing = np.arange(len(labels)) % _TEST_SHARE == 0
    chosen = testing if split == "test" else ~testing
    pixels = (images[chosen] * (255 / 16)).round().astype(np.uint8)
    enlarged = pixels.repeat(_ENLARGED, axis=1).repeat(_ENLARGED, axis=2)
    return DataSet(NAME, enlarged[:, None], labels[chosen], classes=10, mean=(0.306,), std=(0.376,))


def _file() -> str:
    """A line per picture: its pixels from 0 to 16, then its digit. Importing scikit-learn takes each rank seconds."""
    return str(distribution("scikit-learn").locate_file("sklearn/datasets/data/digits.csv.gz"))
