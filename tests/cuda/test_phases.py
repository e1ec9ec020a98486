"""Phases on a GPU: the time that the work took there, as a profiler has it, and all of the trial's seconds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from mpi4py import MPI
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from engine.config import TrainingConfig
from engine.learner import Learner
from engine.protocol import OFF_THE_CLOCK, Ended, Point
from engine.run import Run
from engine.trainer import train
from tests.mpi_job import mpi_job

GPUS = torch.cuda.device_count()
pytestmark = pytest.mark.skipif(not GPUS, reason="no GPU")
# Steps of some 20 ms and more on any GPU, so that it is the GPU and not the host that steps wait for.
LARGE = {
    "model": "alexnet-cifar",
    "data": "synthetic",
    "fc": "torch",
    "device": "cuda",
    "learning_rate": 0.01,
    "momentum": 0.9,
    "batch_size": 8192,
    "images": 8192 * 12,
}
SMALL = {**LARGE, "batch_size": 128, "images": 128 * 500 + 5, "points": 20}
STEPS = 5


@pytest.fixture(params=[True, False], ids=["captured", "not captured"])
def captured(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if not request.param:
        monkeypatch.setattr(Learner, "_make_captured", lambda *_: None)
    return bool(request.param)


def ended_of(settings: dict[str, Any]) -> tuple[bool, list[float], Ended]:
    events: list[Any] = []
    train("t", TrainingConfig.model_validate(settings), MPI.COMM_SELF, events.append)
    losses = [event.loss for event in events if isinstance(event, Point)]
    return events[0].effective["captured"], losses, events[-1]


def on_the_clock(phases: dict[str, float]) -> dict[str, float]:
    return {name: seconds for name, seconds in phases.items() if name not in OFF_THE_CLOCK}


@pytest.mark.parametrize("phases", ["coarse", "detailed"])
@pytest.mark.parametrize("settings", [SMALL, LARGE], ids=["small steps", "large steps"])
def test_phases_add_up_to_the_seconds(settings: dict[str, Any], phases: str, captured: bool) -> None:
    was_captured, _, ended = ended_of({**settings, "phases": phases, "evaluate_every": settings["images"] // 2})
    assert was_captured == captured
    assert all(seconds >= 0 for seconds in ended.phases.values())
    assert sum(on_the_clock(ended.phases).values()) == pytest.approx(ended.seconds, rel=0.02)
    whole = {"step", "report"} if captured and phases == "coarse" else {"compute", "update", "report"}
    assert on_the_clock(ended.phases).keys() == whole
    assert ended.phases["evaluation"] > 0


@pytest.mark.parametrize("method", ["auto", "parameter-server", "ring"])
@pytest.mark.parametrize("average", ["gradients", "weights"])
def test_one_rank_exchanges_nothing(method: str, average: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def copy(*_: object) -> None:
        raise AssertionError("copied between the host and the GPU")

    monkeypatch.setattr("engine.flat.FlatParameters.to_host", copy)
    monkeypatch.setattr("engine.flat.FlatParameters.from_host", copy)
    settings = {**SMALL, "exchange": {"method": method, "average": average}, "phases": "detailed"}
    _, losses, ended = ended_of(settings)
    assert ended.phases.keys() == {"compute", "update", "report"}
    assert losses == ended_of(SMALL)[1]


def test_a_step_in_parts_learns_the_same() -> None:
    assert ended_of({**SMALL, "phases": "detailed"})[1] == ended_of({**SMALL, "phases": "coarse"})[1]


def profiled(steps: Callable[[], None]) -> dict[str, float]:
    """Seconds of the kernels that the profiler saw, by what they belong to."""
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as profiler:
        steps()
        torch.cuda.synchronize()
    found = {"compute": 0.0, "update": 0.0}
    for event in profiler.events():
        if event.device_type == DeviceType.CUDA:
            phase = "update" if "sgd" in event.name.lower() else "compute"
            found[phase] += (event.time_range.end - event.time_range.start) / 1e6
    return found


@pytest.mark.usefixtures("captured")
def test_they_are_those_of_a_profiler() -> None:
    run = Run(TrainingConfig.model_validate({**LARGE, "phases": "detailed"}), MPI.COMM_SELF)
    run.warm_up()
    run.synchronise()
    steps = iter(range(2 * STEPS))

    def some() -> None:
        for _ in range(STEPS):
            run.step(next(steps))

    def timed() -> None:
        run.phases.start("compute")
        some()
        run.phases.stop()

    profiled(some)  # the profiler's first kernels wait for it
    expected = profiled(timed)
    found = run.phases.totals
    assert expected["update"] > 0
    assert found["compute"] == pytest.approx(expected["compute"], rel=0.1)
    # Besides its kernel the update has the gap before it, some microseconds, which is as long as the kernel is.
    assert found["update"] == pytest.approx(expected["update"], rel=0.1, abs=50e-6 * STEPS)


def test_a_step_that_is_queued_takes_its_time_nevertheless() -> None:
    """The host queues steps in a fraction of their time."""
    run = Run(TrainingConfig.model_validate({**LARGE, "phases": "detailed"}), MPI.COMM_SELF)
    run.warm_up()
    run.synchronise()
    begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    run.phases.start("compute")
    begun.record()
    for step in range(STEPS):
        run.step(step)
    ended.record()
    assert not ended.query(), "the host is ahead of the GPU"
    run.phases.stop()
    assert sum(run.phases.totals.values()) == pytest.approx(begun.elapsed_time(ended) / 1000, rel=0.02)


@pytest.mark.parametrize("phases", ["coarse", "detailed"])
@pytest.mark.parametrize("method", ["nccl", "parameter-server", "all-reduce", "ring"])
@pytest.mark.parametrize("average", ["gradients", "weights"])
def test_phases_of_two_ranks_add_up_to_the_seconds(method: str, average: str, phases: str) -> None:
    if method == "nccl" and GPUS < 2:
        pytest.skip("nccl needs a GPU for each rank")
    settings = {**SMALL, "exchange": {"method": method, "average": average}, "phases": phases}
    with mpi_job(2, "-m", "tests.cuda.trained", json.dumps(settings)) as job:
        said, errors = job.communicate(timeout=120)
    assert job.returncode == 0, errors
    found = json.loads(said)
    exchanging = {"gather", "average", "broadcast"} if method == "parameter-server" else {"all-reduce"}
    expected = {"compute", "update", "report", *exchanging}
    if phases == "detailed":
        expected |= {"wait"}
    elif method == "nccl":
        expected = {"step", "report"}
    assert found["phases"].keys() == expected
    assert sum(found["phases"].values()) == pytest.approx(found["seconds"], rel=0.02)


@pytest.mark.skipif(GPUS < 2, reason="nccl needs a GPU for each rank")
def test_buckets_that_nccl_sends_count_as_far_as_they_are_waited_for() -> None:
    settings = {**SMALL, "exchange": {"method": "nccl", "overlap": "on"}, "phases": "detailed"}
    with mpi_job(2, "-m", "tests.cuda.trained", json.dumps(settings)) as job:
        said, errors = job.communicate(timeout=120)
    assert job.returncode == 0, errors
    found = json.loads(said)
    assert not found["captured"]
    assert found["phases"].keys() == {"compute", "wait", "all-reduce", "update", "report"}
    assert sum(found["phases"].values()) == pytest.approx(found["seconds"], rel=0.02)
