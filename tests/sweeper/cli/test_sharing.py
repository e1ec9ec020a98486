"""Sweeps that share a machine, and ranks that share a core. Real gangs."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from sweeper.gangs.machine import usable_cpus
from sweeper.gangs.seat_locks import SeatLocks
from sweeper.gangs.seats import Seats
from tests.processes import eventually
from tests.sweeper.cli.commands import CORES, begin, here, number, others, rows

SPEC = f"""
name: small
trial: {{model: neuron, data: step-function, images: 3200, batch_size: 32, learning_rate: 0.1, points: 4}}
space: {{workers: [1, {CORES + 1}]}}
"""
DETACHED = """
name: detached
trial: {command: [sh, program.sh, "{seconds}"]}
space: {seconds: [600]}
"""
TRAINS = """
echo '{"sweeper":{"loss":1}}'
sleep 0.05
echo '{"sweeper":{"loss":0.5}}'
"""
PROGRAM = """
setsid sh -c 'echo $$ > left; sleep 600; true' &
echo '{"sweeper":{"loss":1}}'
sleep $1
"""


@pytest.mark.skipif(CORES > 16, reason="starts a rank a core, and one more")
@pytest.mark.parametrize("executor", [pytest.param("ray", marks=pytest.mark.long), "local"])
def test_more_workers_than_cores_run_where_it_is_asked_for_and_are_not_ranked_by_their_times(
    executor: str, spec: Path, tmp_path: Path
) -> None:
    _, err = begin("run", str(spec), "--executor", executor).communicate(timeout=200)
    assert f"{CORES + 1} cannot be seated" in err
    assert "or let workers share cores (--oversubscribe)" in err
    assert not (tmp_path / "sweeper.db").exists()
    running = begin("run", str(spec), "--executor", executor, "--oversubscribe", "--json")
    out, err = running.communicate(timeout=200)
    assert running.returncode == 0, err
    assert rows(tmp_path, "SELECT workers, state, oversubscribed FROM trial ORDER BY workers") == [
        (1, "completed", 0),
        (CORES + 1, "completed", 1),
    ]
    one, many = json.loads(out)["groups"]
    assert (one["qualified"], one["oversubscribed"]) == (1, 0)
    assert (many["qualified"], many["oversubscribed"], many["winner"]) == (0, 1, None)
    assert "1 oversubscribed" in here("best", "small")[0]
    for asked in (["--oversubscribed"], ["--over", "images"]):
        out, err = here("best", "small", "--json", *asked)
        assert [group["qualified"] for group in json.loads(out)["groups"]] == [1, 1], err
    shown = json.loads(here("show", "small", "--json")[0])["trials"]
    assert sorted((t["parameters"]["workers"], t["oversubscribed"]) for t in shown) == [(1, False), (CORES + 1, True)]
    assert eventually(lambda: not others(tmp_path))


@pytest.mark.skipif(usable_cpus() < CORES, reason="in a container with a quota cores are not told apart")
def test_a_sweep_waits_for_the_cores_of_another(spec: Path, tmp_path: Path) -> None:
    pool = SeatLocks.of_this_machine()
    places = pool.take(Seats(CORES))
    assert places
    one = ["run", str(spec), "--executor", "local", "--set", "space.workers=[1]"]
    process = begin(*one)
    assert process.stderr is not None
    waiting = next(line for line in process.stderr if "waiting for" in line)
    assert f"waiting for 1 cores, which other sweeps of this machine have (process {os.getpid()})" in waiting
    shared = begin(*one, "--again", "--oversubscribe")
    assert shared.communicate(timeout=100)[1] == ""
    assert number(tmp_path, "SELECT count(*) FROM loss_point") == 4
    assert rows(tmp_path, "SELECT state, oversubscribed FROM trial ORDER BY state") == [
        ("completed", 1),
        ("running", 0),
    ]
    pool.give_back(places)
    process.communicate(timeout=100)
    assert rows(tmp_path, "SELECT state, oversubscribed FROM trial ORDER BY oversubscribed") == [
        ("completed", 0),
        ("completed", 1),
    ]


@pytest.mark.skipif(usable_cpus() < CORES, reason="in a container with a quota cores are not told apart")
def test_trials_that_shared_cores_are_repeated_and_keep_their_results_if_that_fails(spec: Path, tmp_path: Path) -> None:
    (tmp_path / "train.sh").write_text(TRAINS)
    spec.write_text("name: shared\ntrial: {command: [sh, train.sh, '{rate}']}\nspace: {rate: [1, 2]}\n")
    pool = SeatLocks.of_this_machine()
    places = pool.take(Seats(CORES))
    assert places
    shared = begin("run", str(spec), "--executor", "local", "--oversubscribe").communicate(timeout=100)[0]
    assert shared.count("oversubscribed") >= 2
    pool.give_back(places)
    results = "SELECT id, state, reason, attempt, points, area_seconds, seconds, oversubscribed FROM trial ORDER BY id"
    before = rows(tmp_path, results)
    again = ["rerun", "shared", "--executor", "local"]

    (tmp_path / "train.sh").write_text("exit 3")
    failing = begin(*again, "--oversubscribed")
    _, err = failing.communicate(timeout=100)
    assert failing.returncode == 1
    assert "2 of 2 trials keep their old results" in err
    assert rows(tmp_path, results) == before
    assert rows(tmp_path, "SELECT state FROM attempt WHERE number = 2") == [("failed",)] * 2

    (tmp_path / "train.sh").write_text(TRAINS)
    succeeding = begin(*again, "--oversubscribed")
    out, err = succeeding.communicate(timeout=100)
    assert succeeding.returncode == 0, err
    assert out.splitlines()[-1].endswith(": completed")
    assert rows(tmp_path, "SELECT state, attempt, oversubscribed FROM trial") == [("completed", 3, 0)] * 2
    assert rows(tmp_path, "SELECT count(*) FROM loss_point WHERE attempt = 1") == [(4,)]


@pytest.mark.long
@pytest.mark.skipif(usable_cpus() < CORES, reason="in a container with a quota cores are not told apart")
def test_an_interrupt_brings_back_the_results_of_all_that_was_to_be_repeated(spec: Path, tmp_path: Path) -> None:
    (tmp_path / "train.sh").write_text(TRAINS)
    spec.write_text("name: shared\ntrial: {command: [sh, train.sh, '{rate}']}\nspace: {rate: [1, 2, 3, 4]}\n")
    pool = SeatLocks.of_this_machine()
    places = pool.take(Seats(CORES))
    assert places
    begin("run", str(spec), "--executor", "local", "--oversubscribe").communicate(timeout=100)
    pool.give_back(places)
    results = "SELECT id, state, reason, attempt, points, area_seconds, oversubscribed FROM trial ORDER BY id"
    before = rows(tmp_path, results)
    assert {row[-1] for row in before} == {1}
    (tmp_path / "train.sh").write_text(f"{TRAINS}sleep 600\n")
    repeating = begin("rerun", "shared", "--oversubscribed", "--executor", "local")
    assert eventually(lambda: number(tmp_path, "SELECT count(*) FROM loss_point WHERE attempt = 2") >= 2, 60)
    repeating.send_signal(signal.SIGINT)
    out, _ = repeating.communicate(timeout=60)
    assert repeating.returncode == 130
    assert "trials that were to be repeated keep their old results" in out
    assert rows(tmp_path, results) == before
    assert {state for (state,) in rows(tmp_path, "SELECT state FROM attempt WHERE number = 2")} == {"interrupted"}
    assert eventually(lambda: not others(tmp_path))


@pytest.mark.skipif(CORES > 16, reason="starts a rank a core, and one more")
@pytest.mark.skipif(usable_cpus() < CORES, reason="in a container with a quota cores are not told apart")
def test_a_sweep_that_may_share_waits_for_the_cores_of_others_where_it_is_told_to(spec: Path, tmp_path: Path) -> None:
    pool = SeatLocks.of_this_machine()
    places = pool.take(Seats(1))
    assert places
    (tmp_path / "train.sh").write_text(TRAINS)
    spec.write_text(f"name: s\ntrial: {{command: [sh, train.sh]}}\nspace: {{workers: [{CORES + 1}]}}\n")
    one = ["run", str(spec), "--executor", "local"]
    assert "goes with --oversubscribe" in begin(*one, "--wait-for-seats").communicate(timeout=60)[1]
    process = begin(*one, "--oversubscribe", "--wait-for-seats")
    assert process.stderr is not None
    assert any(f"waiting for {CORES} cores" in line for line in process.stderr)
    pool.give_back(places)
    process.communicate(timeout=100)
    assert rows(tmp_path, "SELECT state, oversubscribed FROM trial") == [("completed", 1)]
    rerun = begin("rerun", "latest", "--oversubscribed", "--executor", "local")
    assert f"{CORES + 1} cannot be seated" in rerun.communicate(timeout=60)[1]


def test_what_a_killed_run_left_behind_is_ended_by_the_next(spec: Path, tmp_path: Path) -> None:
    spec.write_text(DETACHED)
    (tmp_path / "program.sh").write_text(PROGRAM)
    process = begin("run", str(spec), "--executor", "local")
    assert eventually(lambda: bool(number(tmp_path, "SELECT count(*) FROM loss_point")), 60)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    # The shell that left for a session of its own, both shells' sleeps, and mpiexec, whose pipes these hold.
    assert eventually(lambda: len(others(tmp_path)) == 4)
    left = others(tmp_path)
    going_on = begin("resume", "detached", "--executor", "local")
    assert going_on.stderr is not None
    assert "ended 4 processes that an earlier run of this sweep had left" in going_on.stderr.readline()
    assert not set(left) & set(others(tmp_path))
    going_on.send_signal(signal.SIGINT)
    going_on.communicate(timeout=60)
    assert eventually(lambda: not others(tmp_path))
