"""Trials between the store and the executor: those that run, and those that are settled without a run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from engine.protocol import Evaluated, Ready
from sweeper.gangs.base import Job, JobEvent
from sweeper.gangs.seats import Seats, seats_of
from sweeper.guides.base import Derived
from sweeper.paths import checkpoints_folder, gang_log
from sweeper.plan.trial import TrialState
from sweeper.ranking.area_bound import Verdict
from sweeper.ranking.curve import CurveSummary, LossPoint, summarize
from sweeper.scheduling.admission import shape_of
from sweeper.scheduling.log_part import read_printed
from sweeper.spec import Limits
from sweeper.store import EvaluationRecord, GangRecord, Printed, Store, TrialRecord

STATE_OF = {  # what a trial comes to, by what its ranks say
    "completed": TrialState.COMPLETED,
    "diverged": TrialState.DIVERGED,
    "stopped": TrialState.CANCELLED,
}


@dataclass
class Running:
    """A claimed trial: its points so far, and how many of them the store has.

    Its ranks print to `log`, from `log_from` up to `log_to` in bytes.
    """

    trial: TrialRecord
    log: str
    log_from: int = 0
    log_to: int | None = None  # known when it has ended
    points: list[LossPoint] = field(default_factory=list)
    written: int = 0
    written_at: float = 0.0
    begun_at: float = 0.0
    is_up: bool = False  # its gang; the store then knows since when it holds its seats
    trains: bool = False
    verdict: Verdict | None = None  # why it was asked to stop, as far as a guide said so

    @property
    def printed(self) -> Printed | None:
        """What its ranks have printed; None where that is nothing."""
        return read_printed(self.log, self.log_from, self.log_to)


def must_share(trial: TrialRecord, need: Seats) -> bool:
    """Whether a gang that gets `need` has less than its ranks ask for."""
    return need != seats_of(*shape_of(trial))


def job_for(trial: TrialRecord, need: Seats, limits: Limits) -> Job:
    """What the executor is to run for a claimed trial, whose gang gets `need`."""
    workers, cpus, gpus = shape_of(trial)
    return Job(
        trial_id=trial.id,
        attempt=trial.attempt,
        workers=workers,
        cpus_per_worker=cpus,
        gpus_per_worker=gpus,
        spread=trial.resources.get("placement") == "spread",
        granted=(need.cpus, need.gpus) if must_share(trial, need) else None,
        config=trial.config,
        log=str(gang_log(trial.id, trial.attempt)),
        limit_s=limits.trial_seconds,
        stall_s=limits.stall_seconds,
        checkpoints=str(checkpoints_folder(trial.id)) if trial.config.get("checkpoint_every") else "",
    )


def gang_record(happened: JobEvent, ready: Ready, sweep_id: str) -> GangRecord:
    """The gang that says it is up."""
    return GangRecord(
        id=happened.gang_id,
        sweep_id=sweep_id,
        workers=ready.ranks,
        hosts=ready.hosts,
        pids=ready.pids,
        versions=ready.versions,
        started_at=datetime.now(UTC),
    )


def evaluation_record(event: Evaluated) -> EvaluationRecord:
    """An evaluation as the store has it."""
    return EvaluationRecord(
        step=event.step, images=event.images, seconds=event.seconds, loss=event.loss, accuracy=event.accuracy
    )


def ended_record(trial: TrialRecord, state: TrialState, reason: str, summary: CurveSummary) -> TrialRecord:
    """The trial as the store has it once it has ended by an attempt that trained it."""
    return replace(trial, state=state, reason=reason, derived_from=None, **vars(summary))


def derive(
    store: Store, trial: TrialRecord, derived: Derived, scheduler_id: str | None, *, oversubscribed: bool
) -> TrialRecord | None:
    """Record the curve of a trial that waits as an attempt of its own; None where another scheduler was first."""
    attempt = store.attempts.claim(trial.id, scheduler_id=scheduler_id)
    if attempt is None:
        return None
    summary = summarize(derived.points)
    state = TrialState.COMPLETED if summary.finite else TrialState.DIVERGED
    reason = "" if summary.finite else f"trial {derived.source} diverged"
    store.attempts.add_points(trial.id, attempt, derived.points)
    store.attempts.finish(
        trial.id, attempt, state, summary, reason=reason, oversubscribed=oversubscribed, derived_from=derived.source
    )
    ended = ended_record(replace(trial, attempt=attempt, scheduler_id=scheduler_id), state, reason, summary)
    return replace(ended, oversubscribed=oversubscribed, derived_from=derived.source)
