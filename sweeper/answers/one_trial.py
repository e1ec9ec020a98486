"""A trial with all that is recorded of it, as values of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sweeper.answers.sweeps import heading, trial_answer
from sweeper.store import AttemptRecord, GangRecord, Store, per_step


def one_trial_answer(store: Store, reference: str) -> dict[str, Any]:
    """{"sweep", "name", the fields of `sweeper.answers.sweeps.trial_answer`, "config", "resources", "areas",
    "attempts": [...], "evaluations": [...], "curve": [{"step", "images", "seconds", "loss"}]}.

    `reference` is an id, or a beginning that fits no other trial. "areas" are over seconds, images and steps. Of each
    attempt, first to last, there are "effective" (the settings as they took effect, the device and the precision),
    "phases" and "per_step" (seconds in all, and in the mean), the "hosts" of its gang, once each, and its "versions".
    The curve is that of the attempt with the result.

    Raises:
        NotFoundError: see `Store.trials.resolve`.
    """
    trial = store.trials.resolve(reference)
    sweep = store.sweeps.find(trial.sweep_id)
    gangs = {gang.id: gang for gang in store.attempts.gangs(sweep.id)}
    return {
        **heading(sweep),
        **trial_answer(trial),
        "config": trial.config,
        "resources": trial.resources,
        "areas": {"seconds": trial.area_seconds, "images": trial.area_images, "steps": trial.area_steps},
        "attempts": [
            attempt_answer(
                one,
                gangs.get(one.gang_id or ""),
                store.attempts.phases(trial.id, one.number),
                trial.steps_of(one),
            )
            for one in store.attempts.of(trial.id)
        ],
        "evaluations": [vars(one) for one in store.attempts.evaluations(trial.id)],
        "curve": [
            {"step": point.step, "images": point.images, "seconds": point.seconds, "loss": point.loss}
            for point in store.attempts.points(trial.id)
        ],
    }


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted names."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def attempt_answer(
    attempt: AttemptRecord, gang: GangRecord | None, phases: Mapping[str, float], steps: int | None
) -> dict[str, Any]:
    """An attempt of `one_trial_answer`, which took so many steps."""
    return {
        "number": attempt.number,
        "state": attempt.state,
        "reason": attempt.reason,
        "traceback": attempt.traceback,
        "started_at": attempt.started_at.isoformat(timespec="seconds"),
        "ended_at": attempt.ended_at.isoformat(timespec="seconds") if attempt.ended_at else None,
        "seconds": (attempt.ended_at - attempt.started_at).total_seconds() if attempt.ended_at else None,
        "startup_seconds": attempt.startup_seconds,
        "setup_seconds": attempt.setup_seconds,
        "effective": attempt.effective,
        "phases": phases,
        "per_step": per_step(phases, steps),
        "hosts": list(dict.fromkeys(gang.hosts)) if gang else [],
        "versions": gang.versions if gang else {},
        "log": attempt.log,
    }
