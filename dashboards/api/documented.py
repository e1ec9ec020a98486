"""What the OpenAPI document says of answers: their shapes, and every error that a route may give."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from sweeper.plan.sweep_state import SweepState

_ERRORS = {
    400: "A host, a name, a query or a setting that cannot be used.",
    401: "The token is missing, or none of this server's.",
    403: "The token may not do this, or the request comes from another site.",
    404: "There is no such sweep, trial or figure.",
    405: "The path takes other methods.",
    409: "The key stands for another spec, or the sweep is none of a service.",
    413: "The body is too large.",
    422: "A value that cannot be; the message has a line for each.",
    429: "Too many requests; ask again after Retry-After seconds.",
    503: "The store does not answer, or no sweeps are run.",
}
Key = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")]
_OF_ALL = (400, 401, 403, 404, 422, 429, 503)


class Fault(BaseModel):
    """What is wrong, and what to do about it."""

    kind: str
    message: str
    remedy: str


class ErrorAnswer(BaseModel):
    """The one shape of errors."""

    error: Fault


class _Answer(BaseModel):
    """More fields may come; these keep their names."""

    model_config = ConfigDict(extra="allow")


class SweepAnswer(_Answer):
    """A sweep and how far it is; times in seconds, null where nothing can be said yet."""

    sweep: str
    name: str
    state: SweepState
    states: dict[str, int]
    trials: int
    ended: int
    created_at: str


class SweepsAnswer(_Answer):
    """A page of sweeps, the newest first."""

    sweeps: list[SweepAnswer]
    page: int
    pages: int
    total: int


class SubmittedAnswer(_Answer):
    """A sweep that was submitted; `new` is false where the key had it already."""

    sweep: str
    name: str
    new: bool
    trials: int


class TrialsAnswer(_Answer):
    """A page of a sweep's trials, as `sweeper show --json` has them."""

    sweep: str
    trials: list[dict[str, Any]]
    page: int
    pages: int
    total: int


class BestAnswer(_Answer):
    """As `sweeper best --json`; without `recommended` in the groups where the query says `recommend=false`."""

    sweep: str
    name: str
    over: str
    threshold: float | None
    groups: list[dict[str, Any]]


class ForecastAnswer(_Answer):
    """As `sweeper forecast --json`; `note` says why some models have times and costs only.

    `left_out` counts trials that say nothing about other worker counts, by the reason.
    """

    sweep: str
    name: str
    over: str | None
    threshold: float | None
    note: str | None
    left_out: dict[str, int]
    workers: list[dict[str, Any]]


class StoppedAnswer(_Answer):
    """What a stop has cancelled, and what still runs up to its next loss point."""

    sweep: str
    cancelled: int
    running: int


class TrialAnswer(_Answer):
    """A trial with its settings and attempts."""

    trial: str
    sweep: str
    state: str
    parameters: dict[str, Any]
    attempts: list[dict[str, Any]]


class CurveAnswer(_Answer):
    """Loss points [step, images, seconds, loss]; `not_finite` names, by step, the losses that are null for that."""

    trial: str
    attempt: int
    points: list[tuple[int, int | None, float | None, float | None]]
    not_finite: dict[str, str]


class PrintedAnswer(_Answer):
    """As `sweeper log --json`. Long output is cut to its end; `omitted` counts the bytes before it."""

    trial: str
    attempt: int
    state: str
    log: str | None
    text: str
    omitted: int


class HealthAnswer(_Answer):
    """Whether the store answers and sweeps are run."""

    status: str
    store: str
    runner: str


class Submission(BaseModel):
    """A sweep to run: its spec, and a key under which it is submitted once, however often it is sent."""

    model_config = ConfigDict(extra="forbid")

    spec: dict[str, Any] = Field(description="As in a spec file: docs/spec.md.")
    key: Key | None = None


def errors(*more: int) -> dict[int | str, dict[str, Any]]:
    """The errors of a route: those that every route may give, and `more`."""
    return {status: {"model": ErrorAnswer, "description": _ERRORS[status]} for status in sorted({*_OF_ALL, *more})}
