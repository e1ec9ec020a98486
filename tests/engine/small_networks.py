"""Networks that are quick to train, as a user's own: named as `tests.engine.small_networks:with_dropout`."""

from __future__ import annotations

from torch import nn


def with_dropout(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Draws at each step."""
    return nn.Sequential(_convolution(shape), nn.ReLU(), nn.Flatten(), nn.Dropout(0.5), nn.Linear(4 * 64, classes))


def with_normalisation(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Keeps running means."""
    return nn.Sequential(_convolution(shape), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 64, classes))


def _convolution(shape: tuple[int, ...]) -> nn.Conv2d:
    return nn.Conv2d(shape[0], 4, 4, stride=4)


def with_groups(shape: tuple[int, ...], classes: int) -> nn.Module:
    """A convolution of groups, which cannot be split among ranks."""
    return nn.Sequential(_convolution(shape), nn.Conv2d(4, 4, 1, groups=2), nn.Flatten(), nn.Linear(4 * 64, classes))
