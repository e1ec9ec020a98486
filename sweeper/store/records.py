"""What the store gives to its callers: frozen records, free of SQLAlchemy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from engine.config import TrainingConfig
from sweeper.plan.sweep_state import SweepState, sweep_state
from sweeper.plan.trial import TrialSpec, TrialState
from sweeper.ranking import Candidate
from sweeper.ranking.chance import chance_limit, is_at_chance
from sweeper.spec import Resources, StoredSpec, parse_config


@dataclass(frozen=True)
class SweepRecord:
    """A sweep, submitted or imported.

    `states` counts its trials by state, `begun` says whether any was ever attempted, `held` counts those that a
    scheduler whose lease is alive runs. `stop_asked` where somebody has asked to stop it.
    """

    id: str
    name: str
    origin: str
    spec: StoredSpec
    threshold: float | None
    over: str
    group_by: tuple[str, ...]
    created_at: datetime
    states: Mapping[TrialState, int]
    begun: bool
    held: int = 0
    stop_asked: bool = False

    @property
    def trials(self) -> int:
        """Number of trials in any state."""
        return sum(self.states.values())

    @property
    def total(self) -> int:
        """The same with those that a search is still to add."""
        return max(self.trials, self.spec.search.trials or 0)

    @property
    def ended(self) -> int:
        """Number of trials that are over."""
        return sum(count for state, count in self.states.items() if state.ended)

    @property
    def state(self) -> SweepState:
        """See `sweep_state`. A trial that a search is still to add waits, too."""
        return sweep_state(self.states, self.total, begun=self.begun, held=self.held, stop_asked=self.stop_asked)


@dataclass(frozen=True)
class SubmissionRecord:
    """A sweep that was handed to a service under a key; `digest` is of what came.

    `problem` says why it cannot be run, as {"kind", "message", "remedy"}.
    """

    key: str
    sweep_id: str
    digest: str
    submitted_at: datetime
    problem: dict[str, str] | None


@dataclass(frozen=True)
class SchedulerRecord:
    """Whoever claims trials: its process, as `sweeper.gangs.process_identity` names it, and the end of its lease."""

    id: str
    host: str
    process: str
    started_at: datetime
    lease_until: datetime


@dataclass(frozen=True, slots=True)
class WaitingTrial:
    """A trial that waits, as far as whoever decides which one is next needs it."""

    id: str
    position: int
    workers: int
    parameters: Mapping[str, Any]
    resources: Mapping[str, Any]


@dataclass(frozen=True)
class TrialRecord:
    """A trial with what is kept of its curve; times are in seconds of training.

    `attempt` is its latest, or the one whose result it has returned to.

    `oversubscribed` where its ranks shared cores or GPUs, so that its seconds are not those of others. The losses
    of one that is `derived_from` another are that one's, and its seconds follow from the time of its own steps.

    While it is repeated, its curve's numbers are those of the result that it keeps: of the `kept_attempt`, which ended
    as `kept_state`. Both are None for all others.
    """

    id: str
    sweep_id: str
    position: int
    workers: int
    parameters: dict[str, Any]
    config: dict[str, Any]
    resources: dict[str, Any]
    state: TrialState
    reason: str
    attempt: int
    points: int
    finite: bool
    minimum_loss: float | None
    final_loss: float | None
    seconds: float | None
    images: int | None
    steps: int | None
    area_seconds: float | None
    area_images: float | None
    area_steps: float | None
    scheduler_id: str | None = None
    oversubscribed: bool = False
    derived_from: str | None = None
    kept_state: TrialState | None = None
    kept_attempt: int | None = None

    @property
    def result_state(self) -> TrialState:
        """The state, or that of the result that it keeps while it is repeated."""
        return self.state if self.state.ended else self.kept_state or self.state

    @property
    def result_attempt(self) -> int:
        """The attempt that its curve is of: its latest, or the one whose result it keeps."""
        return self.attempt if self.state.ended else self.kept_attempt or self.attempt

    @property
    def waits(self) -> WaitingTrial:
        """The trial as far as whoever decides which one is next needs it."""
        return WaitingTrial(self.id, self.position, self.workers, self.parameters, self.resources)

    @property
    def planned(self) -> TrialSpec:
        """The trial as it was planned."""
        return TrialSpec(
            key=self.id.partition("-")[2],
            workers=self.workers,
            parameters=self.parameters,
            config=parse_config(self.config),
            resources=Resources.model_validate(self.resources),
        )

    @property
    def at_chance(self) -> bool:
        """Whether the trial, or the result that it keeps, never learnt; see `sweeper.ranking.chance`."""
        return is_at_chance(self.result_state, self.minimum_loss, chance_limit(self.config))

    @property
    def area_is_bound(self) -> bool:
        """Whether its areas are lower bounds, for it ended early; so too while it keeps such a result."""
        return self.result_state.ended_early and self.area_steps is not None

    @property
    def whole_images(self) -> int | None:
        """Images that it sees if it runs to its end; None where that is not known, for example of a command."""
        if "command" in self.config or self.config.get("images"):
            return self.config.get("images")
        config = self.planned.config
        budget = config.known_budget(self.workers) if isinstance(config, TrainingConfig) else None
        return budget.images if budget else None

    def steps_of(self, attempt: AttemptRecord) -> int | None:
        """Steps that an attempt has trained; None if it is not the one that the trial has its result of."""
        return self.steps if attempt.number == self.result_attempt else None

    def area(self, over: str) -> float | None:
        """Area over "seconds", "images" or "steps"."""
        areas = {"seconds": self.area_seconds, "images": self.area_images, "steps": self.area_steps}
        return areas[over]

    def candidate(self, over: str, *, oversubscribed: bool = False) -> Candidate:
        """The trial as the ranking sees it; an oversubscribed one has no area over seconds, unless it is asked for."""
        untimed = over == "seconds" and self.oversubscribed and not oversubscribed
        return Candidate(
            trial=self.id,
            parameters=self.parameters,
            state=self.state,
            finite=self.finite,
            area=None if untimed else self.area(over),
            minimum_loss=self.minimum_loss,
            seconds=self.seconds,
            images=self.images,
            position=self.position,
            oversubscribed=self.oversubscribed,
            derived_from=self.derived_from,
            at_chance=self.at_chance,
        )


class Settled(StrEnum):
    """What becomes of a trial whose attempt, or whose waiting, is over."""

    ENDED = "ended"  # in the state that it was given
    RESTORED = "restored"  # it was repeated, and has again the result that it had kept


@dataclass(frozen=True)
class AttemptRecord:
    """One try at a trial; `setup_seconds` is the engine's, `startup_seconds` the gang's, neither in the curve."""

    trial_id: str
    number: int
    gang_id: str | None
    state: str
    reason: str
    traceback: str
    effective: dict[str, Any]
    startup_seconds: float | None
    setup_seconds: float | None
    log: str
    started_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True)
class Printed:
    """What the ranks of an attempt printed: the `text` is all of it, or the end, with `omitted` bytes before it."""

    text: str
    omitted: int = 0


@dataclass(frozen=True)
class AttemptSpan:
    """When an attempt had a gang, and what its time went into, in seconds; None where that is not known (yet).

    From `started_at` the gang took `startup` to come up, the engine `setup`, training `trained`, and evaluations and
    checkpoints `off_clock`. `ended_at` is when the end was recorded.
    """

    trial_id: str
    number: int
    gang_id: str
    workers: int
    state: str
    started_at: datetime
    startup: float | None
    setup: float | None
    trained: float | None
    off_clock: float
    ended_at: datetime | None
    hosts: Sequence[str] = ()  # one entry a rank


@dataclass(frozen=True)
class TrialPhases:
    """Seconds by phase of the latest attempt at a trial, which trained so many `steps`; None where nobody knows."""

    steps: int | None
    seconds: Mapping[str, float]

    @property
    def per_step(self) -> dict[str, float]:
        """Mean seconds of a step by phase; empty where the steps are not known."""
        return per_step(self.seconds, self.steps)


def per_step(seconds: Mapping[str, float], steps: int | None) -> dict[str, float]:
    """Mean seconds of a step by phase, from those of all steps; empty where the steps are not known."""
    return {name: total / steps for name, total in seconds.items()} if steps else {}


@dataclass(frozen=True)
class EvaluationRecord:
    """The network on the test set after `step`: mean loss, and in [0, 1] the share of samples that it has right.

    `seconds` is the training time before it; an evaluation's own time is in no curve. An imported run may have no
    `images`, and NaN for what it does not say.
    """

    step: int
    images: int | None
    seconds: float
    loss: float
    accuracy: float


@dataclass(frozen=True)
class GangRecord:
    """An MPI job that serves attempts; one entry a rank in `hosts` and `pids`."""

    id: str
    sweep_id: str
    workers: int
    hosts: list[str]
    pids: list[int]
    versions: dict[str, str]
    started_at: datetime
