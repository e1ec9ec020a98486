"""VGG (Simonyan and Zisserman, Very deep convolutional networks for large-scale image recognition, 2015)."""

from __future__ import annotations

from torch import Tensor, nn

from engine.models.fully_connected import Fc, fully_connected
from engine.models.sizes import convolution, is_large, plain_convolution

_WIDTHS = (64, 128, 256, 512, 512)
# Convolutions between two poolings, by the network's layers: columns A, B, D and E of the paper's table 1.
DEPTHS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
_LARGE_HIDDEN, _SMALL_HIDDEN = (4096, 4096), (512, 512)
_DROPOUT = 0.5


class Vgg(nn.Module):
    """Stacks of 3 x 3 convolutions between five poolings of 2 x 2, then three fully connected layers with dropout.

    Takes [n, channels, height, width], gives class scores [n, classes]. Convolutions have batch normalisation if
    `normalised`, else biases as in the paper. From 64 pixels up the hidden layers have 4096 outputs, below 512; a
    pooling is left out where one pixel is left, as with 28 x 28. For 3 x 224 x 224 and 1000 classes VGG-19 has
    143,667,240 parameters with biases, and 143,672,744 with batch normalisation.

    Raises:
        ValueError: a depth other than those of `DEPTHS`.
    """

    def __init__(
        self,
        channels: int,
        size: tuple[int, int],
        classes: int,
        depth: int,
        fc: Fc = "torch",
        *,
        normalised: bool = True,
    ) -> None:
        super().__init__()
        if depth not in DEPTHS:
            raise ValueError(f"depth {depth} is none of {', '.join(map(str, DEPTHS))}")
        layers: list[nn.Module] = []
        inputs, (height, width) = channels, size
        for outputs, convolutions in zip(_WIDTHS, DEPTHS[depth], strict=True):
            for _ in range(convolutions):
                layers.append((convolution if normalised else plain_convolution)(inputs, outputs, 3))
                inputs = outputs
            if min(height, width) > 1:
                layers.append(nn.MaxPool2d(2))
                height, width = height // 2, width // 2
        self.features = nn.Sequential(*layers)
        hidden = _LARGE_HIDDEN if is_large(size) else _SMALL_HIDDEN
        self.classifier = fully_connected([inputs * height * width, *hidden, classes], fc, _DROPOUT)

    def forward(self, pictures: Tensor) -> Tensor:
        """Class scores [n, classes]."""
        scores: Tensor = self.classifier(self.features(pictures).flatten(1))
        return scores
