"""The base of all errors that a person can act upon."""

from __future__ import annotations


class ClearError(Exception):
    """An expected error: `message` says what is wrong, `remedy` what to do next, `kind` is its name in JSON."""

    kind = "error"

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


class DataError(ClearError):
    """A data set that cannot be found, fetched or read."""

    kind = "data"


class ModelError(ClearError):
    """A network and a data set that do not fit each other."""

    kind = "model"
