"""A gang's supervisor: what it makes of logs, environments and orphans."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from engine.protocol import LAST_WORDS, Ended, Evaluated, Event, Point, Ready, Started, encode
from engine.shared_memory import mapped_segments
from sweeper.errors import LaunchError
from sweeper.gangs.base import Job
from sweeper.gangs.gang import Gang
from sweeper.gangs.launcher import Launcher, find_launcher
from sweeper.gangs.mpi_job import killed, last_words
from tests.processes import eventually, processes_with, words_of


def test_last_words_are_those_of_the_rank_that_spoke_first() -> None:
    log = textwrap.dedent(f"""\
        a print
        {LAST_WORDS} 2: Traceback (most recent call last):
        {LAST_WORDS} 2: ValueError: first
        {LAST_WORDS} 0: Traceback (most recent call last):
        {LAST_WORDS} 0: ValueError: second
        """)
    assert last_words(log) == (2, "Traceback (most recent call last):\nValueError: first")


def test_no_last_words_without_a_traceback() -> None:
    assert last_words("rank 1: fine\n") == (None, "")


OUTER = {"PMI_SIZE": "2", "PMIX_X": "1", "SLURM_JOB_ID": "7", "OMPI_MCA_x": "y", "HYDRA_IFACE": "lo", "A": "b"}


def test_the_environment_is_scrubbed_of_an_outer_job() -> None:
    inner = Launcher("mpiexec", "mpich").environment({**OUTER, "PMI_RANK": "0"}, 3, ["4", "5"])
    assert inner["A"] == "b"
    assert not any(name.startswith(("PMI", "OMPI", "HYDRA", "SLURM")) for name in inner)
    assert inner["OMP_NUM_THREADS"] == "3"
    assert inner["CUDA_VISIBLE_DEVICES"] == "4,5"


def test_settings_of_an_mpi_stay_where_there_is_no_outer_job() -> None:
    inner = Launcher("mpiexec", "openmpi").environment(OUTER, 1)
    assert (inner["OMPI_MCA_x"], inner["HYDRA_IFACE"], inner["MPI4PY_MPIABI"]) == ("y", "lo", "openmpi")
    assert not any(name.startswith(("PMI", "SLURM")) for name in inner)
    assert "CUDA_VISIBLE_DEVICES" not in inner


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("=   PID 12 RUNNING AT host\n=   EXIT CODE: 9\nEXIT STRING: Killed (signal 9)", (1, 9)),
        ("=   PID 12 RUNNING AT host\n=   EXIT CODE: 3", (1, None)),
        ("=   PID 13 RUNNING AT host\n=   EXIT CODE: 3", (None, None)),
        ("noticed that process rank 1 with PID 0 on node host exited on signal 15 (Terminated).", (1, 15)),
        ("all is well", (None, None)),
    ],
)
def test_an_mpiexecs_report_of_a_death_is_understood(said: str, found: tuple[int | None, int | None]) -> None:
    assert killed(said, [11, 12]) == found


def test_a_named_mpiexec_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = tmp_path / "mpiexec"
    named.write_text("#!/bin/sh\necho 'mpiexec (OpenRTE) 4.1.4'\n")
    named.chmod(0o755)
    monkeypatch.setenv("SWEEPER_MPIEXEC", str(named))
    launcher = find_launcher()
    assert (launcher.mpiexec, launcher.kind) == (str(named), "openmpi")
    assert launcher.command(3, ["program"])[-3:] == ["-n", "3", "program"]


def test_all_that_a_job_reports_comes_through_and_nothing_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = Ready(1, [], ["host"], {})
    reported: list[Event] = [
        Started("mine", 0.5, {}),
        Point("mine", 1, 32, 0.1, 2.0),
        Evaluated("mine", 1, 32, 0.1, math.inf, 0.25, 3.0),
        Ended("mine", "completed", 1, 32, 0.1, {}),
    ]
    lines = [ready, Evaluated("other", 1, 32, 0.1, 1.0, 0.75, 3.0), *reported]
    (tmp_path / "lines").write_text("".join(f"{encode(event)}\n" for event in lines))
    named = tmp_path / "mpiexec"
    named.write_text(f"#!/bin/sh\ntest $1 = --version && exec echo HYDRA\nexec cat '{tmp_path}/lines'\n")
    named.chmod(0o755)
    monkeypatch.setenv("SWEEPER_MPIEXEC", str(named))
    job = Job("mine", 1, 1, 1, 0, {}, str(tmp_path / "gang.log"))
    gang = Gang(job)
    try:
        assert [happened.event for happened in gang.run(job)] == [ready, *reported]
    finally:
        gang.close()


def test_an_unknown_mpiexec_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = tmp_path / "mpiexec"
    named.write_text("#!/bin/sh\necho something else\n")
    named.chmod(0o755)
    monkeypatch.setenv("SWEEPER_MPIEXEC", str(named))
    with pytest.raises(LaunchError, match="neither MPICH's nor Open MPI's"):
        find_launcher()


@pytest.mark.parametrize("whom", ["supervisor", "all but the ranks"])
def test_ranks_end_when_their_supervisor_is_killed(whom: str, tmp_path: Path) -> None:
    supervisor = textwrap.dedent(f"""
        from tests.contracts.jobs import ENDLESS, job, until_first_point
        from sweeper.gangs.seats import Capacity, Seats
        from sweeper.gangs.local import LocalExecutor
        from pathlib import Path

        executor = LocalExecutor(Capacity((Seats(2),)))
        executor.start(job(Path({str(tmp_path)!r}), "orphan", workers=2, images=ENDLESS, points=10_000))
        until_first_point(executor)
        print("training", flush=True)
        input()
    """)
    tag = str(tmp_path)
    environment = {**os.environ, "SWEEPER_TEST_TAG": tag, "PYTHONPATH": str(Path(__file__).parents[3])}
    process = subprocess.Popen(
        [sys.executable, "-c", supervisor], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "training\n"
    tagged = processes_with("SWEEPER_TEST_TAG", tag)
    assert len(tagged) >= 4  # the supervisor, mpiexec and two ranks at least
    segments = mapped_segments(member.pid for member in tagged)
    assert segments
    killed = [member for member in tagged if not is_rank(member)] if whom != "supervisor" else []
    assert len(tagged) - len(killed) >= 2
    # The helper first: its death is what ranks are told of, whoever else is there no more.
    for member in sorted(killed, key=lambda one: "proxy" not in one.name()):
        with suppress(psutil.NoSuchProcess):
            member.kill()
    process.kill()
    process.communicate()
    assert eventually(lambda: not processes_with("SWEEPER_TEST_TAG", tag))
    if whom == "supervisor":
        assert not any(segment.exists() for segment in segments)


def is_rank(process: psutil.Process) -> bool:
    """Whether it is one of the engine's; mpiexec and its helper name the engine, too, but are no Python."""
    words = words_of(process)
    return "engine.worker" in words and "python" in words[0]
