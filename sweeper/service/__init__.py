"""The service behind `sweeper serve`: it accepts sweeps and runs each one in a scheduler process of its own."""

from sweeper.service.policy import Policy
from sweeper.service.runner import Runner
from sweeper.service.submitting import submit

__all__ = ["Policy", "Runner", "submit"]
