"""The service behind `sweeper serve`: takes sweeps, and has each run by a scheduler in a process of its own."""

from sweeper.service.policy import Policy
from sweeper.service.runner import Runner
from sweeper.service.submitting import submit

__all__ = ["Policy", "Runner", "submit"]
