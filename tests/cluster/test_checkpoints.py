"""A trial goes on from its checkpoint on hosts that share no folder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine.protocol import Ended, Failed, Ready, Started
from sweeper.gangs.base import Job, JobEvent
from sweeper.gangs.ray import RayExecutor
from tests.cluster.network import OWN_FOLDER, Host
from tests.cluster.ray_hosts import RayHosts
from tests.contracts.jobs import ENDLESS, job, until
from tests.processes import eventually


def lasting(tmp_path: Path, cluster: RayHosts, name: str, workers: int) -> Job:
    """A job that writes checkpoints often, into a folder that each host has for itself."""
    given = job(tmp_path, name, workers=workers, images=ENDLESS, points=10_000, checkpoint_every=2_000)
    return replace(given, checkpoints=str(cluster.folder / OWN_FOLDER / name))


def brought(given: Job) -> int:
    """The step of the checkpoint that is here, where no rank runs; -1 where there is none."""
    note = Path(given.checkpoints) / "brought" / "latest.json"
    return int(json.loads(note.read_text())["step"]) if note.exists() else -1


def own_folder(host: Host, given: Job) -> Path:
    """Where a host has its checkpoints of a job."""
    return host.folder / OWN_FOLDER / Path(given.checkpoints).name


def away_from_head(cluster: RayHosts, events: list[JobEvent]) -> tuple[str, Host]:
    """A job with a rank on another host than the head's, and that host."""
    of_host = {process.pid: host for host in cluster.hosts[1:] for process in cluster.processes(host)}
    ready = [(one.trial_id, one.event.pids) for one in events if isinstance(one.event, Ready)]
    return next((trial, of_host[pid]) for trial, pids in ready for pid in pids if pid in of_host)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_trial_whose_host_is_lost_goes_on_elsewhere(cluster: RayHosts, tmp_path: Path, workers: int) -> None:
    with cluster.entered(cluster.hosts[0]), pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPIR_CVAR_POLLS_BEFORE_YIELD", "1")
        executor = RayExecutor(cluster.address)
        # One of two gangs of a rank each is not on the head's host.
        names = [f"{name}-{workers}" for name in ("one", "other")[: 3 - workers]]
        jobs = {name: lasting(tmp_path, cluster, name, workers) for name in names}
        for given in jobs.values():
            executor.start(given)
        name, host = away_from_head(cluster, until(executor, Started, len(jobs)))
        given = jobs[name]
        assert eventually(lambda: brought(given) > 0, 120)
        cluster.kill(host)
        try:
            (failed,) = [one for one in until(executor, Failed) if isinstance(one.event, Failed)]
            assert (failed.trial_id, failed.event.host) == (name, host.address)  # type: ignore[union-attr]
            there = brought(given)  # by the first attempt: its courier is over, and the next one's has not begun
            executor.start(replace(given, attempt=2))
            started = [one.event for one in until(executor, Started) if isinstance(one.event, Started)]
            assert started[0].effective["resumed_at_step"] == there
            executor.stop(name)
            until(executor, Ended)
            others = [own_folder(one, given) for one in cluster.hosts if one is not host]
            assert any(folder.exists() for folder in others)
            executor.remove_checkpoints(given.checkpoints)
            assert eventually(lambda: not any(folder.exists() for folder in others), 60)
        finally:
            executor.close()
            cluster.restart(host)
