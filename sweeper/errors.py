"""The errors that a person can act upon: each says what is wrong and what to do about it."""

from __future__ import annotations

from engine.errors import ClearError


class SweeperError(ClearError):
    """Base of the expected errors of sweeps, as `engine.errors` has those of training.

    `option` is how the command line does what the remedy says. Only the command line shows it.
    """

    def __init__(self, message: str, remedy: str = "", option: str = "") -> None:
        super().__init__(message, remedy)
        self.option = option


class SpecError(SweeperError):
    """A spec that cannot be run; one line for each fault, each with field, value and remedy."""

    kind = "spec"

    def __init__(self, problems: list[str], option: str = "") -> None:
        super().__init__("\n".join(problems), option=option)
        self.problems = problems


class SeatingError(SweeperError):
    """A worker count that the machine or cluster can never seat."""

    kind = "seating"


class StoreError(SweeperError):
    """The store cannot be opened, read or written."""

    kind = "store"


class LostTrialError(StoreError):
    """A trial that is no longer this attempt's: it has ended, or was given to somebody else."""


class NotFoundError(SweeperError):
    """No sweep or trial of that name, or more than one."""

    kind = "not-found"


class RepeatedError(SweeperError):
    """A spec that the store has a sweep of already."""

    kind = "repeated"


class SubmissionError(SweeperError):
    """Something that a service does not take: a key that stands for another spec."""

    kind = "submission"


class ServerError(SweeperError):
    """A service that cannot be reached, or does not answer as one."""

    kind = "server"


class AccessError(SweeperError):
    """A service asks for a token, for one that may do more, or does for nobody what was asked."""

    kind = "access"


class LaunchError(SweeperError):
    """MPI or Ray cannot start what was asked for."""

    kind = "launch"


class LostHostError(LaunchError):
    """A host of a cluster, by its address, has been lost with what ran there."""

    def __init__(self, message: str, host: str) -> None:
        super().__init__(message, "see whether the host runs, and Ray on it")
        self.host = host

    def __reduce__(self) -> tuple[type[LostHostError], tuple[str, str]]:
        return LostHostError, (self.message, self.host)


class LostRayError(LaunchError):
    """Ray has died: no gang can be started any more, whatever it is."""


class LogFormatError(SweeperError):
    """A log in which no loss curve can be found."""

    kind = "log-format"


class FigureError(SweeperError):
    """A figure that cannot be drawn from what the store holds."""

    kind = "figure"


class UsageError(SweeperError):
    """A setting of the environment that cannot be used."""

    kind = "usage"


class DocumentError(SweeperError):
    """A file that cannot be exported to, or from which no sweep can be imported."""

    kind = "document"


class MissingPackageError(SweeperError):
    """A package that only some have, and that is needed now."""

    kind = "missing-package"
