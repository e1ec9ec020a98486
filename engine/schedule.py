"""The learning rate over a run."""

from __future__ import annotations

import math

from engine.config import TrainingConfig


def rate_of(config: TrainingConfig, step: int, steps: int, workers: int) -> float:
    """The rate at step number `step`, from 0, of `steps` in all, of a run of `workers` workers.

    Workers that share layers count as one. The peak is `learning_rate`, times the workers with `linear_scaling` (Goyal
    et al., Accurate, large minibatch SGD, 2017). Over the first `warm_up` of the run the rate rises in a straight line
    to the peak, which its last step has. After it "constant" stays, "step" multiplies by `factor` at each of
    `milestones`, and "cosine" goes down half a wave towards 0 (Loshchilov and Hutter, SGDR, 2016, without restarts).
    Parts of a run are parts of its images.
    """
    schedule = config.schedule
    peak = config.learning_rate * (workers if schedule.linear_scaling else 1)
    rising = round(schedule.warm_up * steps)
    if step < rising:
        return peak * (step + 1) / rising
    if schedule.kind == "step":
        return peak * schedule.factor ** sum(step >= part * steps for part in schedule.milestones)
    if schedule.kind == "cosine":
        return peak * (1 + math.cos(math.pi * (step - rising) / max(1, steps - rising))) / 2
    return peak
