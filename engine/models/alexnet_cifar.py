"""The small AlexNet for CIFAR-10 of report 7 and the paper's section 5."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from engine.models.fully_connected import Fc, fully_connected, use_operators
from engine.models.picture_convolution import PictureConv2d

MAPS = (32, 32, 64)
HIDDEN = (64, 32)
_WINDOW, _STRIDE = 3, 2


class AlexNetCifar(nn.Module):
    """Three 5 x 5 convolutions, each with ReLU and average pooling, then fully connected layers of 64, 32 and classes.

    Takes [n, channels, height, width], gives class scores [n, classes]. The convolutions keep the size (padding 2),
    each pooling (3 x 3, stride 2) halves it: 576 features from 32 x 32 pixels, 256 from 28 x 28. `fc` says whose
    operators compute the fully connected layers, and bias, ReLU and pooling after a convolution.

    Raises:
        ValueError: pictures too small for three poolings.
        OperatorsError: `fc` is "fused", and the compiled operators are missing or stale.
    """

    def __init__(self, channels: int, size: tuple[int, int], classes: int, fc: Fc = "torch") -> None:
        super().__init__()
        layers: list[nn.Module] = []
        inputs, (height, width) = channels, size
        for maps in MAPS:
            layers.append(_PooledConv(inputs, maps, fc))
            inputs, height, width = maps, (height - _WINDOW) // _STRIDE + 1, (width - _WINDOW) // _STRIDE + 1
        if min(height, width) < 1:
            raise ValueError(f"pictures of {size[0]} x {size[1]} pixels are too small: alexnet-cifar needs 15 x 15")
        self.features = nn.Sequential(*layers)
        features = inputs * height * width
        self.classifier = fully_connected([features, *HIDDEN, classes], fc)

    def forward(self, pictures: Tensor) -> Tensor:
        """Class scores [n, classes]."""
        scores: Tensor = self.classifier(self.features(pictures).flatten(1))
        return scores


class _PooledConv(PictureConv2d):
    """A 5 x 5 convolution that keeps the size, ReLU, and average pooling."""

    def __init__(self, inputs: int, maps: int, fc: Fc) -> None:
        super().__init__(inputs, maps, kernel_size=5, padding=2)
        self._pool = None
        if fc == "fused":
            use_operators()
            from cuda_ext import relu_avg_pool

            self._pool, self.fused = relu_avg_pool, True

    def forward(self, input: Tensor) -> Tensor:
        if self._pool is None:
            return F.avg_pool2d(F.relu(super().forward(input)), _WINDOW, _STRIDE)
        assert self.bias is not None
        return self._pool(self.maps(input), self.bias, _WINDOW, _STRIDE)
