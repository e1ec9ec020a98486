"""What only SLURM does: gangs on nodes of an allocation, steps that wait or are ended from outside. On a real site."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from engine.protocol import Ended, Failed, Point, Ready, Started
from sweeper.answers.doctor import check_slurm
from sweeper.errors import LaunchError
from sweeper.gangs.base import Executor, Job
from sweeper.gangs.seats import Capacity, Seats
from sweeper.gangs.slurm import SlurmExecutor
from sweeper.gangs.slurm.own_job import SlurmJob
from sweeper.spec.command import CommandConfig
from tests.contracts.jobs import ENDLESS, drain, job, losses, until_first_point
from tests.processes import eventually
from tests.sweeper.slurm.site import CORES, GPUS, NODES, SlurmSite

REPORT = "import os, sweeper; sweeper.report(loss=float(len(os.environ['CUDA_VISIBLE_DEVICES'])))"


@pytest.fixture(scope="module")
def allocated(slurm_site: SlurmSite) -> Iterator[str]:
    """The number of an allocation of all nodes, to which this process belongs."""
    with slurm_site.allocation(len(NODES), gpus=len(GPUS)) as variables, pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield variables["SLURM_JOB_ID"]


@pytest.fixture
def executor(allocated: str) -> Iterator[SlurmExecutor]:
    assert SlurmJob.ours() == SlurmJob(allocated)
    with closing(SlurmExecutor()) as made:
        yield made


def steps(site: SlurmSite) -> list[str]:
    """The nodes of the job steps that run."""
    return sorted(site.call("squeue", "--steps", "-h", "--format=%N").split())


def endless(tmp_path: Path, name: str, workers: int = 1) -> Job:
    return job(tmp_path, name, workers, images=ENDLESS, points=10_000)


def test_gangs_run_on_the_nodes_of_the_allocation_and_stay_for_the_next_job(
    executor: SlurmExecutor, slurm_site: SlurmSite, tmp_path: Path
) -> None:
    assert executor.capacity() == Capacity((Seats(CORES, len(GPUS)),) * len(NODES), apart=True)
    for name in ("left", "right"):
        executor.start(replace(job(tmp_path, name), cpus_per_worker=CORES))
    both = drain(executor, "left", "right")
    for events in both.values():
        assert [type(e.event) for e in events] == [Ready, Started, *[Point] * (len(events) - 3), Ended]
    assert steps(slurm_site) == list(NODES)
    executor.start(replace(endless(tmp_path, "again"), cpus_per_worker=CORES))
    again = until_first_point(executor)
    assert again[0].gang_id in {events[0].gang_id for events in both.values()}
    executor.close()
    assert eventually(lambda: not steps(slurm_site))
    assert not any(isinstance(e.event, Ended | Failed) for e in executor.events(0.0))


def test_the_doctor_counts_the_allocation(allocated: str) -> None:
    (finding,) = check_slurm("")
    assert allocated
    assert f"on {len(NODES)} nodes: {CORES * len(NODES)} CPUs, {len(GPUS) * len(NODES)} GPUs" in finding.detail


def test_outside_of_an_allocation_it_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(LaunchError, match="not a SLURM allocation") as caught:
        SlurmExecutor()
    assert "salloc" in caught.value.remedy
    assert "sbatch" in caught.value.remedy


@pytest.mark.long
def test_a_gang_sees_the_gpus_that_it_was_given_and_no_more(executor: Executor, tmp_path: Path) -> None:
    config = CommandConfig(command=(sys.executable, "-c", REPORT)).model_dump(mode="json")
    for name, gpus in (("none", 0), ("one", 1), ("other", 1)):
        executor.start(replace(job(tmp_path, name), config=config, gpus_per_worker=gpus))
    events = drain(executor, "none", "one", "other")
    assert [losses(events[name]) for name in ("none", "one", "other")] == [[0.0], [1.0], [1.0]]


@pytest.mark.long
def test_a_job_that_waits_for_other_steps_can_be_stopped(
    executor: Executor, slurm_site: SlurmSite, tmp_path: Path
) -> None:
    with closing(SlurmExecutor()) as other:
        for name in NODES:
            other.start(endless(tmp_path, name, CORES))
        assert eventually(lambda: steps(slurm_site) == list(NODES))
        executor.start(job(tmp_path, "late"))
        assert not executor.events(3.0)
        executor.stop("late")
        ended = drain(executor, "late")["late"][-1].event
        assert isinstance(ended, Ended)
        assert ended.outcome == "stopped"
        executor.start(job(tmp_path, "later"))
        assert not executor.events(3.0)
        executor.close()  # while it waits
        assert steps(slurm_site) == list(NODES), "those of the other, and no more"
    assert not executor.events(0.0)


@pytest.mark.long
@pytest.mark.parametrize("signal", ["TERM", "KILL"])
def test_a_step_that_is_ended_from_outside_fails_its_job_and_the_next_one_runs(
    executor: Executor, slurm_site: SlurmSite, tmp_path: Path, signal: str
) -> None:
    executor.start(endless(tmp_path, "bereft"))
    until_first_point(executor)
    (step,) = slurm_site.call("squeue", "--steps", "-h", "--format=%i").split()
    # scancel sends TERM again and again, and complains once the step has gone.
    subprocess.run(["scancel", f"--signal={signal}", step], env=slurm_site.environment, capture_output=True)
    failed = drain(executor, "bereft")["bereft"][-1].event
    assert isinstance(failed, Failed)
    executor.start(job(tmp_path, "next"))
    assert isinstance(drain(executor, "next")["next"][-1].event, Ended)
