"""Predictions for worker counts that nobody has run: loss curves by global batch, and a model of the step time.

With gradients averaged, W workers of batch B learn step by step what one of W times B does, and a step takes as long
whatever the rate. So the area over seconds is the area over steps of the curve of global batch and rate, times the
seconds of a step of W workers with B images each. A model that learns otherwise from shares of a batch, for example by
batch normalisation, has no such curves: of it the times are predicted, and no losses.

- `measured_runs.py`: what is measured
- `step_time.py`: the seconds of a step
- `predicted_curves.py`, `loss_model.py`: curves, also those that no trial has had
- `prediction.py`: the product
- `validation.py`: how far predictions are off
"""

from sweeper.extrapolation.estimate import LEVEL, Estimate
from sweeper.extrapolation.measured_runs import Run, Setting, left_out, runs_of
from sweeper.extrapolation.prediction import CountForecast, CountTimes, Forecaster, PredictedTimes, Prediction
from sweeper.extrapolation.validation import CountCheck, TimeCheck, leave_one_count_out, time_errors

__all__ = [
    "LEVEL",
    "CountCheck",
    "CountForecast",
    "CountTimes",
    "Estimate",
    "Forecaster",
    "PredictedTimes",
    "Prediction",
    "Run",
    "Setting",
    "TimeCheck",
    "leave_one_count_out",
    "left_out",
    "runs_of",
    "time_errors",
]
