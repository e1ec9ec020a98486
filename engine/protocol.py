"""The JSON lines between a gang's supervisor and its rank 0: commands go in, events come out.

One object a line, discriminated by its first key (`command` or `event`). Numbers that JSON cannot hold travel as the
strings "nan", "inf" and "-inf". A line that is none of these is somebody's print and is no event.
"""

from __future__ import annotations

import json
import math
import signal
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, TypeAlias

# Has a rank write where all its threads are to standard error.
STACKS_SIGNAL = signal.SIGUSR1
# Begins each line of a dying rank's traceback on standard error, before the rank's number.
LAST_WORDS = "sweeper-rank"
# Phases outside a trial's seconds.
OFF_THE_CLOCK = ("evaluation", "checkpoint")


@dataclass(frozen=True)
class Train:
    """Train one trial: `config` is a `TrainingConfig` as a plain dict, `checkpoints` the folder for these, or empty."""

    kind: ClassVar[str] = "train"
    trial: str
    config: dict[str, Any]
    checkpoints: str = ""


@dataclass(frozen=True)
class Prepare:
    """Have ready what a trial of this `config` will need, as in `Train`; nothing is told of it."""

    kind: ClassVar[str] = "prepare"
    config: dict[str, Any]


@dataclass(frozen=True)
class Stop:
    """Stop the running trial at its next loss point; ignored when another trial, or none, is running."""

    kind: ClassVar[str] = "stop"
    trial: str


@dataclass(frozen=True)
class Exit:
    """End the gang; so does the end of standard input."""

    kind: ClassVar[str] = "exit"


@dataclass(frozen=True)
class Ready:
    """All ranks are up; one entry a rank in `pids` and `hosts`."""

    kind: ClassVar[str] = "ready"
    ranks: int
    pids: list[int]
    hosts: list[str]
    versions: dict[str, str]


@dataclass(frozen=True)
class Started:
    """Set-up is over and the clock runs; `effective` holds what the engine chose (device, threads, parameters)."""

    kind: ClassVar[str] = "started"
    trial: str
    setup_seconds: float
    effective: dict[str, Any]


@dataclass(frozen=True)
class Point:
    """Mean loss over the images since the last point; `seconds` of training at the window's end.

    A user's program need not tell its images: None.
    """

    kind: ClassVar[str] = "point"
    trial: str
    step: int
    images: int | None
    seconds: float
    loss: float


@dataclass(frozen=True)
class Evaluated:
    """The network on the test set after `step`: mean loss, share of samples that it has right.

    `seconds` is the training time before it, which the evaluation's own, `took_seconds`, does not add to.
    """

    kind: ClassVar[str] = "evaluated"
    trial: str
    step: int
    images: int
    seconds: float
    loss: float
    accuracy: float
    took_seconds: float


@dataclass(frozen=True)
class Ended:
    """The trial is over: `outcome` is completed, diverged or stopped; `phases` are total seconds on rank 0.

    Without those of `OFF_THE_CLOCK` they add up to `seconds`.
    """

    kind: ClassVar[str] = "ended"
    trial: str
    outcome: str
    steps: int
    images: int
    seconds: float
    phases: dict[str, float] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True)
class Failed:
    """The gang died or could not start; `rank` is the guilty one where it is known (sent by the supervisor).

    With a `remedy` no other gang of several ranks can start either before somebody has done what it says. A `host`, by
    its address, has been lost with the gang: the trial is not to blame, and may run on another one.
    """

    kind: ClassVar[str] = "failed"
    trial: str
    reason: str
    rank: int | None = None
    traceback: str = ""
    remedy: str = ""
    host: str = ""


Command: TypeAlias = Train | Prepare | Stop | Exit
Event: TypeAlias = Ready | Started | Point | Evaluated | Ended | Failed
Message: TypeAlias = Command | Event
_COMMANDS: dict[str, type[Command]] = {c.kind: c for c in (Train, Prepare, Stop, Exit)}
# What a line that is no message makes its decoding raise.
_MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
_EVENTS: dict[str, type[Event]] = {e.kind: e for e in (Ready, Started, Point, Evaluated, Ended, Failed)}


def encode(message: Message) -> str:
    """One line of strict JSON, without its line end."""
    key = "command" if message.kind in _COMMANDS else "event"
    return json.dumps({key: message.kind, **_to_json(asdict(message))}, separators=(",", ":"), allow_nan=False)


def decode_command(line: str) -> Command:
    """The command in a line; raises ValueError for anything else."""
    try:
        content = json.loads(line)
        return _COMMANDS[content.pop("command")](**content)
    except _MALFORMED as error:
        known = ", ".join(_COMMANDS)
        raise ValueError(f"not a command: {line.strip()[:200]!r} ({error!r}); known are {known}") from None


def decode_event(line: str) -> Event | None:
    """The event in a line, or None where the line is something else."""
    if not line.startswith('{"event":'):
        return None
    try:
        content = json.loads(line)
        return _with_numbers(_EVENTS[content.pop("event")](**content))
    except _MALFORMED:
        return None


def _with_numbers(event: Event) -> Event:
    """Floats again where strings stand for what JSON cannot hold."""
    numbers: dict[str, Any] = {}
    for item in fields(event):
        value = getattr(event, item.name)
        if item.type == "float":
            numbers[item.name] = float(value)
        elif item.type == "dict[str, float]":
            numbers[item.name] = {name: float(number) for name, number in value.items()}
    return replace(event, **numbers)


def _to_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _to_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
