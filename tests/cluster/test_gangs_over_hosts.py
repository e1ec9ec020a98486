"""Gangs whose ranks sit on several hosts of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from engine.protocol import Ended, Failed, Point, Ready, Started
from sweeper.gangs.local import LocalExecutor
from sweeper.gangs.ray import RayExecutor
from sweeper.gangs.seats import Capacity, Seats
from tests.cluster.ray_hosts import RayHosts
from tests.contracts.jobs import ENDLESS, drain, job, losses, ranks_of, until_first_point
from tests.processes import eventually


@pytest.fixture(scope="module")
def executor(cluster: RayHosts) -> Iterator[RayExecutor]:
    """On the first host, which has the head."""
    with cluster.entered(cluster.hosts[0]), pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPIR_CVAR_POLLS_BEFORE_YIELD", "1")
        made = RayExecutor(cluster.address)
        yield made
        made.close()


def test_each_host_counts_for_what_it_has(executor: RayExecutor) -> None:
    assert executor.capacity() == Capacity((Seats(1),) * 3)


def test_a_gang_over_two_hosts_learns_what_it_learns_on_one(executor: RayExecutor, tmp_path: Path) -> None:
    executor.start(job(tmp_path, "over", workers=2))
    over = drain(executor, "over")["over"]
    kinds = [type(e.event) for e in over]
    assert kinds == [Ready, Started, *[Point] * (len(kinds) - 3), Ended]
    ready = over[0].event
    assert isinstance(ready, Ready)
    assert len(set(ready.hosts)) == 2
    here = LocalExecutor(Capacity((Seats(2),)))
    here.start(job(tmp_path, "here", workers=2))
    assert losses(drain(here, "here")["here"]) == losses(over)
    here.close()


def test_the_gang_stays_for_the_next_job(executor: RayExecutor, tmp_path: Path) -> None:
    executor.start(job(tmp_path, "first", workers=2))
    executor_first = drain(executor, "first")["first"]
    executor.start(job(tmp_path, "second", workers=2))
    second = drain(executor, "second")["second"]
    assert executor_first[0].gang_id == second[0].gang_id


def test_a_rank_that_dies_takes_the_gang_along_on_all_hosts(executor: RayExecutor, tmp_path: Path) -> None:
    executor.start(job(tmp_path, "bereft", workers=3, images=ENDLESS, points=10_000))
    pids = ranks_of(until_first_point(executor))
    psutil.Process(pids[2]).kill()
    failed = drain(executor, "bereft")["bereft"][-1].event
    assert isinstance(failed, Failed)
    assert "was killed by signal 9" in failed.reason
    assert str(tmp_path / "bereft.log") in failed.reason
    assert eventually(lambda: not any(map(psutil.pid_exists, pids)))


def test_a_host_out_of_reach_fails_its_gang_and_nothing_is_left(
    executor: RayExecutor, cluster: RayHosts, tmp_path: Path
) -> None:
    executor.start(job(tmp_path, "cut", workers=3, images=ENDLESS, points=10_000))
    pids = ranks_of(until_first_point(executor))
    cluster.hosts[2].unplug()
    try:
        failed = drain(executor, "cut")["cut"][-1].event
        assert isinstance(failed, Failed)
        assert failed.reason.startswith(f"host {cluster.hosts[2].address} has not answered for")
        assert eventually(lambda: not any(map(psutil.pid_exists, pids)), 60)
    finally:
        cluster.hosts[2].plug_in()
