"""Small jobs for any executor, and what becomes of them."""

from __future__ import annotations

from pathlib import Path

from engine.config import TrainingConfig
from engine.protocol import Ended, Event, Failed, Point, Ready
from sweeper.gangs.base import Executor, Job, JobEvent
from tests.processes import eventually

ENDLESS = 10_000_000


def job(tmp_path: Path, name: str, workers: int = 1, **config: object) -> Job:
    settings = {"data": "step-function", "model": "neuron", "images": 640, "batch_size": 32, "points": 4, **config}
    return Job(
        trial_id=name,
        attempt=1,
        workers=workers,
        cpus_per_worker=1,
        gpus_per_worker=0,
        config=TrainingConfig.model_validate(settings).model_dump(mode="json"),
        log=str(tmp_path / f"{name}.log"),
    )


def drain(executor: Executor, *names: str) -> dict[str, list[JobEvent]]:
    """All events until each named job has ended."""
    events: dict[str, list[JobEvent]] = {name: [] for name in names}

    def over(name: str) -> bool:
        return any(isinstance(e.event, Ended | Failed) for e in events[name])

    def step() -> bool:
        for event in executor.events(0.1):
            events[event.trial_id].append(event)
        return all(map(over, names))

    assert eventually(step, 120), f"no end: {events}"
    return events


def until(executor: Executor, kind: type[Event], count: int = 1) -> list[JobEvent]:
    """All events until so many of a kind have come."""
    seen: list[JobEvent] = []

    def step() -> bool:
        seen.extend(executor.events(0.1))
        return sum(isinstance(e.event, kind) for e in seen) >= count

    assert eventually(step, 120), f"not {count} {kind.__name__}: {seen}"
    return seen


def until_first_point(executor: Executor) -> list[JobEvent]:
    """All events until a loss point has come."""
    return until(executor, Point)


def ranks_of(events: list[JobEvent]) -> list[int]:
    return next(e.event.pids for e in events if isinstance(e.event, Ready))


def losses(events: list[JobEvent]) -> list[float]:
    return [e.event.loss for e in events if isinstance(e.event, Point)]
