"""Import and export: loss logs, other programs' stores, and the formats that keep a whole sweep."""

from sweeper.interchange.importing import LoggedTrial, read_trials, store_trials
from sweeper.interchange.logs.base import Ignored, Keys
from sweeper.interchange.logs.log import LossLog, read_log
from sweeper.interchange.logs.recognition import FORMATS
from sweeper.interchange.logs.time_origin import TimeOrigin
from sweeper.interchange.parameters import trial_parameters

__all__ = [
    "FORMATS",
    "Ignored",
    "Keys",
    "LoggedTrial",
    "LossLog",
    "TimeOrigin",
    "read_log",
    "read_trials",
    "store_trials",
    "trial_parameters",
]
