"""What is looked at on the hosts of a cluster before a sweep is recorded, and before a gang's ranks start."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.config import TrainingConfig
from engine.protocol import Ended, Failed
from sweeper.errors import LaunchError
from sweeper.gangs.ray import RayExecutor
from sweeper.gangs.ray.reachability import MEET_S
from sweeper.plan.trial import TrialSpec
from sweeper.spec import Resources
from tests.cluster.network import Host
from tests.cluster.ray_hosts import RayHosts
from tests.contracts.jobs import drain, job
from tests.engine.data import cifar10_files


@pytest.fixture(scope="module")
def executor(cluster: RayHosts) -> Iterator[RayExecutor]:
    """On the first host, which has the head."""
    with cluster.entered(cluster.hosts[0]), pytest.MonkeyPatch.context() as patch:
        patch.delenv("SWEEPER_DATA", raising=False)
        made = RayExecutor(cluster.address)
        yield made
        made.close()


def trial(workers: int, data: str = "step-function") -> TrialSpec:
    config = TrainingConfig(model="neuron" if data == "step-function" else "alexnet-cifar", data=data)
    return TrialSpec("some", workers, {}, config, Resources())


def put_data(host: Host) -> None:
    """A small CIFAR-10 where only this host finds it."""
    folder = host.folder / "data" / "cifar10"
    split = cifar10_files.random_split(50)
    cifar10_files.write_parquet(folder, split, split)


@pytest.fixture
def data_on_two(cluster: RayHosts) -> Iterator[Host]:
    """CIFAR-10 lies on the first and the last of three hosts; the one without it."""
    with_data = [cluster.hosts[0], cluster.hosts[2]]
    for host in with_data:
        put_data(host)
    yield cluster.hosts[1]
    for host in cluster.hosts:
        shutil.rmtree(host.folder / "data" / "cifar10", ignore_errors=True)


def decoded(host: Host) -> list[str]:
    return [path.name for path in host.folder.glob("cache/sweeper/decoded/cifar10-train-*/inputs.npy")]


def test_each_host_has_its_data_before_a_sweep_is_recorded(
    executor: RayExecutor, cluster: RayHosts, data_on_two: Host, tmp_path: Path
) -> None:
    lacking = f"host {data_on_two.address}: data cifar10: not found in {data_on_two.folder / 'data' / 'cifar10'}, "
    with pytest.raises(LaunchError) as caught:
        executor.check_hosts([trial(1), trial(1, "cifar10")])
    assert caught.value.message.startswith(lacking)
    assert "SWEEPER_DATA" in caught.value.remedy
    # The same of a gang whose host has come later.
    given = replace(job(tmp_path, "lacking", workers=3), config=trial(3, "cifar10").config.model_dump(mode="json"))
    executor.start(given)
    failed = drain(executor, "lacking")["lacking"][-1].event
    assert isinstance(failed, Failed)
    assert failed.reason.startswith(lacking)
    put_data(data_on_two)
    executor.check_hosts([trial(1), trial(1, "cifar10")])
    assert [decoded(host) for host in cluster.hosts] == [["inputs.npy"]] * 3


def test_hosts_that_gangs_span_have_met(executor: RayExecutor, tmp_path: Path) -> None:
    executor.check_hosts([trial(1), trial(2)])
    executor.start(job(tmp_path, "over", workers=2))
    assert isinstance(drain(executor, "over")["over"][-1].event, Ended)


def spoil_ranks(folder: Path, patch: pytest.MonkeyPatch, line: str) -> None:
    """Have each rank begin with a line of Python, on whatever host: the submitter's module path goes there."""
    (folder / "sitecustomize.py").write_text(f"import os, time\nif 'PMI_RANK' in os.environ: {line}\n")
    patch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("os.environ['UCX_TLS'] = 'nonsense'", "No such device"),
        pytest.param("os.environ.update(UCX_TLS='tcp', UCX_NET_DEVICES='lo')", "unreachable", marks=pytest.mark.long),
        pytest.param("time.sleep(600)", f"(no answer within {MEET_S:g} s)", marks=pytest.mark.long),
    ],
)
def test_hosts_that_do_not_reach_each_other_are_named(
    executor: RayExecutor, cluster: RayHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, why: str
) -> None:
    spoil_ranks(tmp_path, monkeypatch, line)
    with pytest.raises(LaunchError) as caught:
        executor.check_hosts([trial(2)])
    first, second, _ = (host.address for host in cluster.hosts)
    assert caught.value.message.startswith(f"hosts {first} and {second} of Ray cannot reach each other by MPI (")
    assert why in caught.value.message
    assert "firewall" in caught.value.remedy
    executor.check_hosts([trial(1)])  # which needs no network


@pytest.mark.long
def test_a_host_that_does_not_answer_is_not_taken_for_one_without_sweeper(
    executor: RayExecutor, cluster: RayHosts
) -> None:
    away = cluster.hosts[2]
    away.unplug()
    try:
        with pytest.raises(LaunchError, match=f"host {away.address} of Ray has not answered for 60 s") as caught:
            executor.check_hosts([trial(1)])
        assert "network" in caught.value.remedy
    finally:
        away.plug_in()
        cluster.restart(away)
