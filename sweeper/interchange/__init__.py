"""Import and export: loss logs, other programs' stores, and the formats that keep a whole sweep."""

from sweeper.interchange.importing import LoggedTrial, read_trials, store_trials
from sweeper.interchange.logs.base import Ignored, Keys, LogOptions
from sweeper.interchange.logs.log import LossLog, read_logs
from sweeper.interchange.logs.recognition import FORMATS
from sweeper.interchange.logs.time_origin import TimeOrigin

__all__ = [
    "FORMATS",
    "Ignored",
    "Keys",
    "LogOptions",
    "LoggedTrial",
    "LossLog",
    "TimeOrigin",
    "read_logs",
    "read_trials",
    "store_trials",
]
