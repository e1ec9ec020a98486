"""Pictures of CIFAR-10 beside what Cutout leaves of them, by the engine's own augmentation."""

from __future__ import annotations

import torch
from matplotlib.figure import Figure
from torch import Tensor

from dashboards.figures.drawing import style
from dashboards.figures.drawing.panels import title
from engine.augmentation import Augmentation
from engine.config import AugmentationConfig
from engine.data import is_here, load
from experiments.batch_augmentation.running import CUTOUT

_WIDTH = 8.0  # inches
_DATA = "cifar10"
_PICTURES, _INSTANCES = (4, 8), 4


def draw_pictures() -> Figure | None:
    """Two pictures as they are, and four instances of each; None on a machine without the data."""
    if not is_here(_DATA):
        return None
    data = load(_DATA, "train")
    return _draw(torch.from_numpy(data.inputs[list(_PICTURES)]), torch.tensor(data.mean)[:, None, None])


@style.drawing()
def _draw(pictures: Tensor, mean: Tensor) -> Figure:
    cut = Augmentation(AugmentationConfig(cutout=CUTOUT), 0, pictures.device)
    figure = style.new_figure(_WIDTH, 4.2)
    grid = figure.subplots(len(pictures), 1 + _INSTANCES)
    for row, picture in enumerate(pictures):
        copies = (picture / 255 - mean).repeat(_INSTANCES, 1, 1, 1)
        instances = cut(copies, torch.arange(_INSTANCES) + row * _INSTANCES) + mean
        for column, shown in enumerate([picture / 255, *instances]):
            axes = grid[row, column]
            axes.imshow(shown.clamp(0, 1).permute(1, 2, 0).numpy())
            axes.set_axis_off()
            if row == 0:
                axes.set_title("as it is" if column == 0 else f"instance {column}")
    title(
        figure,
        "Cutout",
        f"two pictures of CIFAR-10, and four instances of each with a square of {CUTOUT} pixels",
        _WIDTH,
    )
    return figure
