"""The small AlexNet for CIFAR-10 of report 7 and the paper's section 5."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from engine.models.fully_connected import fully_connected

MAPS = (32, 32, 64)
HIDDEN = (64, 32)


class AlexNetCifar(nn.Module):
    """Three 5 x 5 convolutions, each with ReLU and average pooling, then fully connected layers of 64, 32 and classes.

    Takes [n, channels, height, width], gives class scores [n, classes]. The convolutions keep the size (padding 2),
    each pooling (3 x 3, stride 2) halves it: 576 features from 32 x 32 pixels, 256 from 28 x 28. `fc` is what
    `fully_connected` makes of it.

    Raises:
        ValueError: pictures too small for three poolings.
        OperatorsError: `fc` is "fused", and the compiled operators are missing or stale.
    """

    def __init__(
        self, channels: int, size: tuple[int, int], classes: int, fc: Literal["fused", "torch"] = "torch"
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        inputs, (height, width) = channels, size
        for maps in MAPS:
            layers += [nn.Conv2d(inputs, maps, kernel_size=5, padding=2), nn.ReLU(), nn.AvgPool2d(3, stride=2)]
            inputs, height, width = maps, (height - 3) // 2 + 1, (width - 3) // 2 + 1
        if min(height, width) < 1:
            raise ValueError(f"pictures of {size[0]} x {size[1]} pixels are too small: alexnet-cifar needs 15 x 15")
        self.features = nn.Sequential(*layers)
        features = inputs * height * width
        self.classifier = fully_connected([features, *HIDDEN, classes], fc)

    def forward(self, pictures: Tensor) -> Tensor:
        """Class scores [n, classes]."""
        scores: Tensor = self.classifier(self.features(pictures).flatten(1))
        return scores
