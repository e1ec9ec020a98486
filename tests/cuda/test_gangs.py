"""Gangs on GPUs: each on its own, and nothing of them in the GPUs' memory once they have ended."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from engine.protocol import Ended, Failed, Point, Started
from sweeper.gangs.base import Executor, Job, JobEvent
from sweeper.gangs.local import LocalExecutor
from sweeper.gangs.machine import gpu_uuids, local_gpus
from sweeper.gangs.seats import Capacity, Seats
from tests.contracts.jobs import ENDLESS, drain, job, ranks_of, until_first_point
from tests.processes import eventually

GPUS = torch.cuda.device_count()
pytestmark = pytest.mark.skipif(not GPUS, reason="no GPU")
SLACK_MIB = 64  # what the driver itself may keep


@pytest.fixture(params=["local", "ray"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    made = make(request.param)
    before = used_mib()
    yield made
    made.close()
    assert eventually(lambda: used_mib() <= before + SLACK_MIB), (before, used_mib())


def make(kind: str, *, share: bool = False) -> Executor:
    if kind == "local":
        return LocalExecutor(share=share)
    if find_spec("ray") is None:
        pytest.skip("no Ray here")
    from sweeper.gangs.ray import RayExecutor

    return RayExecutor(capacity=Capacity((Seats(8, GPUS),)), share=share)


def used_mib() -> int:
    """Memory of all GPUs that is in use."""
    query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    return sum(map(int, subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()))


def on_gpus(tmp_path: Path, name: str, workers: int = 1, **settings: object) -> Job:
    pictures = {"model": "alexnet-cifar", "data": "digits", "images": 3200, "batch_size": 16, "device": "cuda"}
    return replace(job(tmp_path, name, workers, **{**pictures, **settings}), gpus_per_worker=1)


def devices(events: list[JobEvent]) -> list[str]:
    return [e.event.effective["device_uuid"] for e in events if isinstance(e.event, Started)]


def end_of(events: list[JobEvent]) -> Ended | Failed:
    end = events[-1].event
    assert isinstance(end, Ended | Failed)
    return end


def test_trials_side_by_side_have_a_gpu_each(executor: Executor, tmp_path: Path) -> None:
    names = [f"trial{number}" for number in range(GPUS)]
    for name in names:
        executor.start(on_gpus(tmp_path, name))
    told = [device for events in drain(executor, *names).values() for device in devices(events)]
    assert len(set(told)) == len(told) == GPUS


def test_a_gang_takes_all_gpus_and_gives_them_back(executor: Executor, tmp_path: Path) -> None:
    executor.start(on_gpus(tmp_path, "wide", GPUS))
    wide = drain(executor, "wide")["wide"]
    assert isinstance(end_of(wide), Ended), end_of(wide)
    executor.start(on_gpus(tmp_path, "narrow"))
    narrow = drain(executor, "narrow")["narrow"]
    assert isinstance(end_of(narrow), Ended), end_of(narrow)


@pytest.mark.skipif(GPUS < 2, reason="one GPU")
def test_each_algorithm_of_nccl_has_a_gang_of_its_own(executor: Executor, tmp_path: Path) -> None:
    losses, gangs = [], []
    for algorithm in ("ring", "tree", "auto"):
        how = {"method": "nccl", "algorithm": algorithm}
        executor.start(on_gpus(tmp_path, algorithm, GPUS, exchange=how))
        events = drain(executor, algorithm)[algorithm]
        assert isinstance(end_of(events), Ended), end_of(events)
        gangs.append(events[0].gang_id)
        losses.append([event.event.loss for event in events if isinstance(event.event, Point)])
    assert len(set(gangs)) == 3
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)
    assert losses[2] == pytest.approx(losses[0], rel=1e-3)


@pytest.mark.skipif(GPUS < 2, reason="one GPU")
def test_workers_that_share_layers_learn_what_one_learns(executor: Executor, tmp_path: Path) -> None:
    settings = {"model": "resnet-20", "fc": "torch", "images": 256, "batch_size": None, "global_batch_size": 32}
    losses = []
    for channels in (1, 2):
        name = f"in {channels} parts"
        parallel = {"channels": channels}
        executor.start(
            on_gpus(tmp_path, name, channels, precision="float32", learning_rate=0.01, parallel=parallel, **settings)
        )
        events = drain(executor, name)[name]
        assert isinstance(end_of(events), Ended), end_of(events)
        losses.append([event.event.loss for event in events if isinstance(event.event, Point)])
    assert losses[1] == pytest.approx(losses[0], rel=1e-2)


@pytest.mark.parametrize("guilty", [0, -1])
def test_a_killed_rank_leaves_no_memory_and_the_next_trial_runs(
    executor: Executor, tmp_path: Path, guilty: int
) -> None:
    before = used_mib()
    executor.start(on_gpus(tmp_path, "killed", GPUS, images=ENDLESS, points=10_000))
    pids = ranks_of(until_first_point(executor))
    assert used_mib() > before + SLACK_MIB
    os.kill(pids[guilty], signal.SIGKILL)
    failed = end_of(drain(executor, "killed")["killed"])
    assert isinstance(failed, Failed)
    assert failed.rank == guilty % GPUS
    assert eventually(lambda: used_mib() <= before + SLACK_MIB), (before, used_mib())
    executor.start(on_gpus(tmp_path, "next", GPUS))
    assert isinstance(end_of(drain(executor, "next")["next"]), Ended)


def test_closing_leaves_no_memory(tmp_path: Path) -> None:
    before = used_mib()
    executor = make("local")
    executor.start(on_gpus(tmp_path, "busy", GPUS, images=ENDLESS, points=10_000))
    until_first_point(executor)
    executor.close()
    assert eventually(lambda: used_mib() <= before + SLACK_MIB), (before, used_mib())


def test_two_sweeps_do_not_share_a_gpu(tmp_path: Path) -> None:
    first, second = make("local"), make("local")
    first.start(on_gpus(tmp_path, "first", GPUS, images=ENDLESS, points=10_000))
    until_first_point(first)
    second.start(on_gpus(tmp_path, "second"))
    assert not second.events(5.0)
    first.close()
    assert isinstance(end_of(drain(second, "second")["second"]), Ended)
    second.close()


def test_an_outer_choice_of_gpus_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = str(GPUS - 1)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    assert local_gpus() == [chosen]
    executor = make("local")
    executor.start(on_gpus(tmp_path, "chosen"))
    (device,) = devices(drain(executor, "chosen")["chosen"])
    executor.close()
    assert gpu_uuids([chosen])[chosen].removeprefix("GPU-") == device.removeprefix("GPU-")


def test_ranks_share_gpus_where_they_may(executor: Executor, tmp_path: Path) -> None:
    workers = 2 * GPUS
    executor.start(replace(on_gpus(tmp_path, "crowded", workers), granted=(workers, GPUS)))
    events = drain(executor, "crowded")["crowded"]
    assert isinstance(end_of(events), Ended), end_of(events)
    assert events[0].shared
