"""Loss curves from other people's programs: readers of log files, one a file, and the import of what they read."""

from sweeper.interchange.base import Ignored, Keys
from sweeper.interchange.importing import LoggedTrial, read_trials, store_trials
from sweeper.interchange.log import LossLog, read_log
from sweeper.interchange.parameters import trial_parameters
from sweeper.interchange.recognition import FORMATS

__all__ = [
    "FORMATS",
    "Ignored",
    "Keys",
    "LoggedTrial",
    "LossLog",
    "read_log",
    "read_trials",
    "store_trials",
    "trial_parameters",
]
