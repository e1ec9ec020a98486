"""The bars of a histogram, from the table of trials: their order and what they are called."""

from __future__ import annotations

from collections.abc import Sequence

from dashboards.figures.tables import TrialGroup, TrialRow
from dashboards.figures.words.numbers import settings


def sorted_bars(group: TrialGroup) -> list[TrialRow]:
    """The qualified trials from the lowest minimum loss to the highest."""
    return sorted(group.qualified, key=lambda row: (row.minimum_loss or 0.0, row.position))


def bar_labels(bars: Sequence[TrialRow]) -> list[str]:
    """Batch size, learning rate and what else varies, as in "128/0.5/weights"; the trial's number without any."""
    columns: list[list[str]] = []
    for values in (
        [row.batch_size for row in bars],
        [row.learning_rate for row in bars],
        *([row.others.get(name) for row in bars] for name in (bars[0].others if bars else ())),
    ):
        if any(value is not None for value in values):
            texts = settings(values)
            columns.append(["–" if value is None else text for value, text in zip(values, texts, strict=True)])
    return ["/".join(parts) for parts in zip(*columns, strict=True)] or [f"trial {row.position}" for row in bars]
