"""Which processes are ours to end."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from sweeper.gangs.process_identity import this_machine
from sweeper.gangs.processes import OWNER_VARIABLE, end_job, end_orphans, owner_tag
from tests.processes import eventually, processes_with


@contextmanager
def asleep(tag: str | None) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, **({OWNER_VARIABLE: tag} if tag else {})}
    process = subprocess.Popen(["sleep", "600"], env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def tag_of_one_that_has_gone(sweep_id: str) -> str:
    script = f"from sweeper.gangs.processes import owner_tag; print(owner_tag({sweep_id!r}))"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()


def test_only_what_a_sweep_of_ours_has_left_is_ended() -> None:
    gone = tag_of_one_that_has_gone("mine")
    elsewhere = gone.replace(this_machine(), "elsewhere boot pid:[1]")
    with asleep(gone) as orphan, asleep(None) as stranger:
        others = [tag_of_one_that_has_gone("other"), owner_tag("mine"), elsewhere, "mine|", "mine"]
        with ExitStack() as stack:
            alive = [stranger, *(stack.enter_context(asleep(tag)) for tag in others)]
            assert eventually(lambda: all(psutil.Process(p.pid).name() == "sleep" for p in (orphan, *alive)))
            assert end_orphans("mine") == 1
            assert not psutil.pid_exists(orphan.pid)
            assert [process.poll() for process in alive] == [None] * len(alive)
            assert end_orphans("mine") == 0


@pytest.mark.parametrize("outer", ["", "another|1 2|host"])
def test_all_gangs_below_a_process_are_ended_at_once_and_nothing_else(outer: str, tmp_path: Path) -> None:
    script = """
        import os, subprocess
        from sweeper.gangs.processes import OWNER_VARIABLE, kill_gangs, owner_tag
        ignoring = ["sh", "-c", "trap '' TERM; sleep 600; true"]
        tagged = {**os.environ, OWNER_VARIABLE: owner_tag("mine")}
        gang = subprocess.Popen(ignoring, env=tagged, start_new_session=True)
        other = subprocess.Popen(["sleep", "600"])
        kill_gangs()
        print(gang.wait(), other.poll())
        other.kill()
        """
    environment = {**os.environ, "SWEEPER_TEST_TAG": str(tmp_path), **({OWNER_VARIABLE: outer} if outer else {})}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    said = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert said.stdout == "-9 None\n", said.stderr
    assert eventually(lambda: not processes_with("SWEEPER_TEST_TAG", str(tmp_path)))


@pytest.mark.long
def test_a_gang_that_never_stops_forking_is_killed_to_its_last_process(tmp_path: Path) -> None:
    forking = "while :; do sleep 600 & setsid sh -c 'sleep 600 & sleep 600' & sleep 0.01; done"
    script = f"""
        import os, subprocess, time
        from sweeper.gangs.processes import OWNER_VARIABLE, family, kill_gangs, owner_tag
        tagged = {{**os.environ, OWNER_VARIABLE: owner_tag("mine")}}
        gangs = [subprocess.Popen(["sh", "-c", {forking!r}], env=tagged, start_new_session=True) for _ in range(3)]
        while len(family(os.getpid())) < 40:
            time.sleep(0.01)
        kill_gangs()
        print([gang.wait() for gang in gangs])
        """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    environment = {**os.environ, "SWEEPER_TEST_TAG": str(tmp_path)}
    said = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert said.stdout == "[-9, -9, -9]\n", said.stderr
    assert not processes_with("SWEEPER_TEST_TAG", str(tmp_path))


def test_a_session_of_a_gang_is_killed_with_members_that_carry_no_tag(tmp_path: Path) -> None:
    bare = f"env -i SWEEPER_TEST_TAG={tmp_path} sleep 600"
    script = f"""
        import os, subprocess, time
        from sweeper.gangs.processes import OWNER_VARIABLE, family, kill_gangs, owner_tag
        tagged = {{**os.environ, OWNER_VARIABLE: owner_tag("mine")}}
        gang = subprocess.Popen(["sh", "-c", {bare + " & sleep 600; true"!r}], env=tagged, start_new_session=True)
        while [process.name() for process in family(gang.pid)[1:]] != ["sleep"] * 2:
            time.sleep(0.01)
        kill_gangs()
        print(gang.wait())
        """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    environment = {**os.environ, "SWEEPER_TEST_TAG": str(tmp_path)}
    said = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert said.stdout == "-9\n", said.stderr
    assert eventually(lambda: not processes_with("SWEEPER_TEST_TAG", str(tmp_path)))


class DyingJust(subprocess.Popen[bytes]):
    """A process that has died since somebody last looked: the first look still finds it alive."""

    looks = 0

    def poll(self) -> int | None:
        self.looks += 1
        return None if self.looks == 1 else super().poll()


def test_ranks_of_an_mpiexec_that_dies_while_it_is_looked_at_are_ended(tmp_path: Path) -> None:
    tag = str(tmp_path)
    environment = {**os.environ, OWNER_VARIABLE: tag}
    words = ["sh", "-c", "sleep 600 > /dev/null & echo up"]
    with DyingJust(words, env=environment, stdout=subprocess.PIPE, start_new_session=True) as mpiexec:
        assert mpiexec.stdout is not None
        assert mpiexec.stdout.read() == b"up\n"
        psutil.wait_procs([psutil.Process(mpiexec.pid)], timeout=10)
        assert len(list(processes_with(OWNER_VARIABLE, tag))) == 1
        end_job(mpiexec, ())
    assert eventually(lambda: not list(processes_with(OWNER_VARIABLE, tag)))
