"""Gangs whose ranks sit on several hosts of a cluster."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from engine.protocol import Ended, Failed, Point, Ready, Started
from sweeper.gangs.local import LocalExecutor
from sweeper.gangs.ray import RayExecutor
from sweeper.gangs.seats import Capacity, Seats
from tests.cluster.ray_hosts import RayHosts
from tests.contracts.jobs import ENDLESS, drain, job, losses, ranks_of, until_first_point
from tests.processes import eventually, words_of

SPEC = """
name: spanning
trial: {model: neuron, data: step-function, images: 640, points: 10}
space: {batch_size: [16, 32], learning_rate: [0.1, 0.5], workers: [2]}
objective: {threshold: 0.5}
"""


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


def test_all_that_ranks_print_on_their_hosts_is_here_when_the_end_is_told(
    executor: RayExecutor, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys\n"
        "for number in range(30_000):\n"
        "    print(f'rank {os.environ[\"RANK\"]} says {number}', file=sys.stderr)\n"
        "import sweeper; sweeper.report(loss=1.0, step=1, images=1)\n"
    )
    words = {"command": ["python", str(program)], "folder": str(tmp_path)}
    executor.start(replace(job(tmp_path, "talking", workers=2), config=words))
    last = drain(executor, "talking")["talking"][-1]
    assert isinstance(last.event, Ended), last
    said = Path(last.log).read_bytes()
    assert last.log_at == len(said)
    for rank in (0, 1):  # a rank's lines may be cut in two by another's
        assert said.count(b"rank %d says" % rank) >= 29_000


@pytest.mark.long
def test_an_exchange_takes_the_time_of_its_cable(executor: RayExecutor, cluster: RayHosts, tmp_path: Path) -> None:
    """Gradients cross a cable of 50 Mbit/s in each step, and the server waits for them."""
    mbit, steps, parameters = 50, 8, 118_666
    changed = {"model": "alexnet-cifar", "data": "synthetic", "batch_size": 4, "images": 8 * steps, "points": 1}
    given = job(tmp_path, "slow", workers=2, exchange="parameter-server", phases="detailed", **changed)
    for host in cluster.hosts:
        host.shape(mbit)
    try:
        executor.start(given)
        ended = drain(executor, "slow")["slow"][-1].event
    finally:
        for host in cluster.hosts:
            host.unshape()
    assert isinstance(ended, Ended)
    crossing_s = steps * parameters * 4 * 8 / (mbit * 1e6)
    assert ended.phases["gather"] >= 0.9 * crossing_s  # the first 32 kB cross at once


@pytest.mark.long
def test_a_rank_that_dies_takes_the_gang_along_on_all_hosts(executor: RayExecutor, tmp_path: Path) -> None:
    executor.start(job(tmp_path, "bereft", workers=3, images=ENDLESS, points=10_000))
    pids = ranks_of(until_first_point(executor))
    psutil.Process(pids[2]).kill()
    failed = drain(executor, "bereft")["bereft"][-1].event
    assert isinstance(failed, Failed)
    assert "was killed by signal 9" in failed.reason
    assert str(tmp_path / "bereft.log") in failed.reason
    assert eventually(lambda: not any(map(psutil.pid_exists, pids)))


@pytest.mark.long
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
        assert failed.host == cluster.hosts[2].address
        assert executor.capacity() == Capacity((Seats(1),) * 2)
        assert eventually(lambda: not any(map(psutil.pid_exists, pids)), 60)
    finally:
        cluster.hosts[2].plug_in()
        cluster.restart(cluster.hosts[2])


@pytest.mark.long
def test_a_killed_host_fails_its_gang_and_the_next_one_sits_on_the_others(
    executor: RayExecutor, cluster: RayHosts, tmp_path: Path
) -> None:
    executor.start(job(tmp_path, "killed", workers=2, images=ENDLESS, points=10_000))
    pids = ranks_of(until_first_point(executor))
    host = next(host for host in cluster.hosts[1:] if {p.pid for p in cluster.processes(host)} & set(pids))
    cluster.kill(host)
    try:
        failed = drain(executor, "killed")["killed"][-1].event
        assert isinstance(failed, Failed)
        assert failed.host == host.address
        assert eventually(lambda: not any(map(psutil.pid_exists, pids)))
        executor.start(job(tmp_path, "again", workers=2))
        assert isinstance(drain(executor, "again")["again"][-1].event, Ended)
    finally:
        cluster.restart(host)
    assert eventually(lambda: executor.capacity() == Capacity((Seats(1),) * 3))


@pytest.mark.long
def test_a_command_learns_where_its_ranks_meet(executor: RayExecutor, cluster: RayHosts, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import json, os, socket, sys\n"
        "names = ('RANK', 'WORLD_SIZE', 'LOCAL_RANK', 'LOCAL_WORLD_SIZE', 'MASTER_ADDR', 'SWEEPER_DATA')\n"
        "said = {name: os.environ[name] for name in names} | {'host': socket.gethostname()}\n"
        f"open(f'{tmp_path}/{{os.environ[\"RANK\"]}}.json', 'w').write(json.dumps(said))\n"
        "import sweeper; sweeper.report(loss=1.0, step=1, images=1)\n"
    )
    words = ["python", str(program)]
    given = replace(job(tmp_path, "asked", workers=2), config={"command": words, "folder": str(tmp_path)})
    executor.start(given)
    last = drain(executor, "asked")["asked"][-1].event
    assert isinstance(last, Ended), last
    said = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1)]
    assert [(one["RANK"], one["LOCAL_RANK"], one["LOCAL_WORLD_SIZE"]) for one in said] == [
        ("0", "0", "1"),
        ("1", "0", "1"),
    ]
    hosts = {host.name: host for host in cluster.hosts}
    assert said[0]["MASTER_ADDR"] == said[1]["MASTER_ADDR"] == hosts[said[0]["host"]].address
    assert said[0]["host"] != said[1]["host"]
    assert {one["SWEEPER_DATA"] for one in said} == {str(hosts[one["host"]].folder / "data") for one in said}


@pytest.mark.long
@pytest.mark.parametrize("submitter", [0, 1])
def test_a_sweep_from_one_host_spans_two_and_learns_what_it_does_on_one(
    submitter: int, executor: RayExecutor, cluster: RayHosts, tmp_path: Path
) -> None:
    host = cluster.hosts[submitter]
    executor.dismiss_idle()  # another sweep needs the seats
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC)
    for name, options in {"over": ["--ray-address", cluster.address], "here": ["--executor", "local"]}.items():
        folder = tmp_path / name
        folder.mkdir()
        begun = host.start(
            [
                sys.executable,
                "-m",
                "sweeper.cli",
                "run",
                str(spec),
                "--store",
                f"sqlite:///{folder}/sweeps.db",
                *options,
            ],
            {**cluster.environment(host), "SWEEPER_LOGS": str(folder / "logs")},
            folder / "said.log",
        )
        assert begun.wait(150) == 0, (folder / "said.log").read_text()
    curves = {name: _curves(tmp_path / name / "sweeps.db") for name in ("over", "here")}
    assert len(curves["over"]) == 4
    assert curves["over"] == curves["here"]
    assert len(list((tmp_path / "over" / "logs").glob("*/*.log"))) >= 1


@pytest.mark.long
def test_nothing_of_a_killed_sweep_is_left_on_any_host(
    executor: RayExecutor, cluster: RayHosts, tmp_path: Path
) -> None:
    """Killed as by a lack of memory, with its driver: nobody ends its gang in order."""
    executor.dismiss_idle()
    first = cluster.hosts[0]
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC.replace("images: 640, points: 10", f"images: {ENDLESS}, points: 100000"))
    words = [sys.executable, "-m", "sweeper.cli", "run", str(spec), "--ray-address", cluster.address]
    store = ["--store", f"sqlite:///{tmp_path}/sweeps.db"]
    environment = {**cluster.environment(first), "SWEEPER_LOGS": str(tmp_path / "logs")}
    begun = first.start([*words, *store], environment, tmp_path / "said.log")

    def ranks() -> list[str]:
        return [
            host.name for host in cluster.hosts for one in cluster.processes(host) if "engine.worker" in words_of(one)
        ]

    assert eventually(lambda: len(set(ranks())) == 2, 90), (tmp_path / "said.log").read_text()
    for process in [*psutil.Process(begun.pid).children(recursive=True), psutil.Process(begun.pid)]:
        process.kill()
    begun.wait()
    assert eventually(lambda: not ranks(), 60)


def _curves(database: Path) -> dict[str, list[tuple[int, float]]]:
    """Step and loss at each point, by what was set."""
    with closing(sqlite3.connect(database)) as store:
        asked = "SELECT parameters, step, loss FROM trial JOIN loss_point ON trial_id = trial.id ORDER BY step"
        curves: dict[str, list[tuple[int, float]]] = {}
        for parameters, step, loss in store.execute(asked):
            curves.setdefault(parameters, []).append((step, loss))
        return curves
