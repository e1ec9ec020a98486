"""AlexNet in one column (Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014)."""

from __future__ import annotations

from torch import Tensor, nn

from engine.models.fully_connected import Fc, fully_connected
from engine.models.picture_convolution import PictureConv2d
from engine.models.sizes import is_large

_LARGE_HIDDEN, _SMALL_HIDDEN = (4096, 4096), (1024, 1024)
_DROPOUT = 0.5


class AlexNet(nn.Module):
    """Five convolutions, three poolings, three fully connected layers with dropout.

    Takes [n, channels, height, width], gives class scores [n, classes]. From 64 pixels up as published: 61,100,840
    parameters for 3 x 224 x 224 and 1000 classes. Smaller pictures meet 3 x 3 kernels instead of 11 x 11 and 5 x 5,
    poolings of 2 x 2, and hidden layers of 1024.
    """

    def __init__(self, channels: int, size: tuple[int, int], classes: int, fc: Fc = "torch") -> None:
        super().__init__()
        large = is_large(size)
        first = nn.Conv2d(channels, 64, 11, stride=4, padding=2) if large else PictureConv2d(channels, 64, 3, padding=1)
        second = nn.Conv2d(64, 192, 5, padding=2) if large else nn.Conv2d(64, 192, 3, padding=1)
        self.features = nn.Sequential(
            *(first, nn.ReLU(inplace=True), _pooling(large)),
            *(second, nn.ReLU(inplace=True), _pooling(large)),
            *(nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(inplace=True)),
            *(nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(inplace=True)),
            *(nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(inplace=True), _pooling(large)),
        )
        height, width = (_after(pixels, large) for pixels in size)
        hidden = _LARGE_HIDDEN if large else _SMALL_HIDDEN
        self.classifier = fully_connected([256 * height * width, *hidden, classes], fc, _DROPOUT)

    def forward(self, pictures: Tensor) -> Tensor:
        """Class scores [n, classes]."""
        scores: Tensor = self.classifier(self.features(pictures).flatten(1))
        return scores


def _pooling(large: bool) -> nn.Module:
    return nn.MaxPool2d(3, stride=2) if large else nn.MaxPool2d(2)


def _after(pixels: int, large: bool) -> int:
    """What is left of a side after the first convolution's stride and the poolings."""
    if not large:
        return pixels // 8
    pixels = (pixels + 4 - 11) // 4 + 1
    for _ in range(3):
        pixels = (pixels - 3) // 2 + 1
    return pixels
