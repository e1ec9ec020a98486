"""What worker counts that nobody has run would come to: curves by global batch times a model of the time of steps.

With gradients averaged, W workers of batch B learn step by step what one of W times B does, and a step takes as long
whatever the rate. So the area over seconds is the area over steps of the curve of global batch and rate, times the
seconds of a step of W workers with B images each. `runs.py` has what is measured, `step_time.py` the one factor,
`losses.py` the other where no trial has had that curve, `forecast.py` the product, `checking.py` how far it is off.
"""

from sweeper.forecasting.checking import CountCheck, leave_one_count_out
from sweeper.forecasting.estimate import Estimate
from sweeper.forecasting.forecast import CountForecast, Forecaster, Prediction
from sweeper.forecasting.runs import Run, Setting, runs_of

__all__ = [
    "CountCheck",
    "CountForecast",
    "Estimate",
    "Forecaster",
    "Prediction",
    "Run",
    "Setting",
    "leave_one_count_out",
    "runs_of",
]
