"""A user's own program on real ranks: what it says, how it ends, what it leaves."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sweeper
from engine.protocol import Ended, Event, Failed, Point, Ready, Started
from engine.shared_memory import mapped_segments
from sweeper.errors import LaunchError
from sweeper.gangs import command_gang
from sweeper.gangs.base import Job
from sweeper.gangs.command_gang import CommandGang
from sweeper.gangs.launcher import VARIABLE, find_launcher
from tests.processes import eventually, processes_with

TAG = "SWEEPER_TEST_TAG"


def job(folder: Path, program: str, workers: int = 2, words: list[str] | None = None, **fields: Any) -> Job:
    (folder / "program.py").write_text(textwrap.dedent(program))
    config = {
        "command": words or ["python", "program.py"],
        "environment": {TAG: str(folder)},
        "folder": str(folder),
    }
    return Job("t", 1, workers, 1, 0, config, str(folder / "gang.log"), **fields)


def run(given: Job) -> list[Event]:
    """All events; and nothing is left at the end, no process and no shared memory."""
    tag = str(Path(given.log).parent)
    gang = CommandGang(given)
    events: list[Event] = []
    segments: set[Path] = set()
    for happened in gang.run(given):
        events.append(happened.event)
        segments |= mapped_segments(process.pid for process in processes_with(TAG, tag))
    gang.close()
    assert not list(processes_with(TAG, tag))
    assert not [segment for segment in segments if segment.exists()]
    return events


def events_of_lines(folder: Path, *lines: str, workers: int = 1) -> list[Event]:
    """Of a program that prints these."""
    (folder / "lines").write_text("".join(f"{line}\n" for line in lines))
    return run(job(folder, "", workers, ["cat", "lines"]))


def points(events: list[Event]) -> list[Point]:
    return [event for event in events if isinstance(event, Point)]


def test_ranks_find_what_torchrun_would_tell_them_and_rank_0_reports(tmp_path: Path) -> None:
    ready, started, *reported, ended = run(
        job(
            tmp_path,
            """
            import os, numpy, sweeper
            names = "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR OMP_NUM_THREADS".split()
            told = " ".join(["told", *(os.environ[name] for name in names), str(os.environ["MASTER_PORT"].isdigit())])
            os.write(1, f"{told}{os.linesep}".encode())  # in one piece, whatever the other rank writes
            print("unfinished", end="", flush=True)
            sweeper.start()
            for step in numpy.arange(1, 4):
                sweeper.report(loss=numpy.float32(1 / step), step=10 * step, images=320 * step)
            """,
        )
    )
    assert isinstance(ready, Ready)
    assert isinstance(started, Started)
    assert ready.ranks == len(set(ready.pids)) == 2
    assert [(p.step, p.images, p.loss) for p in points(reported)] == [
        (10, 320, 1.0),
        (20, 640, 0.5),
        (30, 960, float(np.float32(1 / 3))),
    ]
    assert [p.seconds for p in points(reported)] == sorted(p.seconds for p in points(reported))
    assert points(reported)[0].seconds > 0
    assert isinstance(ended, Ended)
    assert (ended.outcome, ended.steps, ended.images) == ("completed", 30, 960)
    log = (tmp_path / "gang.log").read_text()
    assert "told 0 2 0 2 127.0.0.1 1 True" in log
    assert "told 1 2 1 2 127.0.0.1 1 True" in log
    assert "unfinished" in log


def test_a_line_of_any_language_is_a_point(tmp_path: Path) -> None:
    script = 'echo hello; sleep 0.2; echo \'{"sweeper": {"loss": 0.25, "images": null}}\''
    events = run(job(tmp_path, "", 1, ["sh", "-c", script]))
    (point,) = points(events)
    assert (point.step, point.images, point.loss) == (1, None, 0.25)
    assert point.seconds > 0
    assert isinstance(events[-1], Ended)
    assert "hello" in (tmp_path / "gang.log").read_text()


def test_only_rank_0_reports_and_what_it_says_early_waits_for_all_ranks(tmp_path: Path) -> None:
    events = events_of_lines(tmp_path, '{"sweeper": {"loss": 1}}', '{"sweeper": {"loss": 0.5}}', workers=3)
    assert [type(event) for event in events] == [Ready, Started, Point, Point, Ended]
    first, second = points(events)
    assert 0 <= first.seconds <= second.seconds < 3600


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            ['{"sweeper": {"loss": 1, "step": 5}}', '{"sweeper": {"loss": 1, "step": 5}}'],
            "reported step 5 after step 5",
        ),
        (['{"sweeper": {"loss": 1, "seconds": 9}}', '{"sweeper": {"loss": 1, "seconds": 8}}'], "reported seconds 8.0"),
        (['{"sweeper": {"loss": 1, "seconds": "nan"}}'], "reported seconds nan"),
        (['{"sweeper": {"loss": 1, "step": 1e30}}'], "reported step 1e+30, which is no whole number"),
        (['{"sweeper": {"loss": 1, "images": -1}}'], "reported images -1, which is no whole number"),
        (
            ['{"sweeper": {"loss": 1, "images": 32}}', '{"sweeper": {"loss": 1, "images": 32}}'],
            "reported images 32 after 32; count those of all workers over the run",
        ),
        (['{"sweeper": {"loss": "x"}}'], "reported loss 'x', which is no number"),
        (['{"sweeper": {"step": 1}}'], "reported loss None, which is no number"),
    ],
)
def test_a_report_that_fits_no_curve_fails_its_trial_alone(lines: list[str], said: str, tmp_path: Path) -> None:
    failed = events_of_lines(tmp_path, *lines)[-1]
    assert isinstance(failed, Failed)
    assert failed.reason.startswith(f"rank 0: {said}")


@pytest.mark.parametrize("line", ['{"rank": 16, "alpha": 2}', '{"sweeper-rank": "a"}', '{"sweeper-rank": 9}', "{"])
def test_lines_that_only_look_like_ours_are_prints(line: str, tmp_path: Path) -> None:
    events = events_of_lines(tmp_path, line, '{"sweeper": {"loss": 1}}')
    assert isinstance(events[-1], Ended)
    assert line in (tmp_path / "gang.log").read_text()


def test_reports_among_the_updates_of_a_progress_bar_are_points(tmp_path: Path) -> None:
    events = run(
        job(
            tmp_path,
            """
            import json, sys
            for step in range(1, 8):
                for k in range(3):
                    sys.stdout.write(f"\\r 43%|####      | {k}/3 [00:01<00:02,  1.60it/s]")
                sys.stdout.write(json.dumps({"sweeper": {"loss": 2.0 / step, "step": step}}) + "\\r")
                sys.stdout.flush()
            print()
            """,
            1,
        )
    )
    assert [(point.step, point.loss) for point in points(events)] == [(step, 2.0 / step) for step in range(1, 8)]
    assert isinstance(events[-1], Ended)
    assert events[-1].reason == ""


def test_the_end_of_a_trial_tells_of_reports_that_could_not_be_read(tmp_path: Path) -> None:
    cut = '{"sweeper": {"loss": 0.5'
    ended = events_of_lines(tmp_path, '{"sweeper": {"loss": 1}}', cut, cut)[-1]
    assert isinstance(ended, Ended)
    assert ended.outcome == "completed"
    assert ended.reason.startswith(f"2 reports could not be read, for example {cut!r}; print each report in one piece")
    assert cut in (tmp_path / "gang.log").read_text()
    failed = events_of_lines(tmp_path, cut)[-1]
    assert isinstance(failed, Failed)
    assert "ended without a loss" in failed.reason
    assert f"1 report could not be read, {cut!r}" in failed.reason


def test_python_is_ours_whatever_folder_mpiexec_puts_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open MPI's mpiexec puts its own folder there, in which there may be another Python."""
    other = tmp_path / "bin"
    other.mkdir()
    (other / "python").write_text("#!/bin/sh\nexit 3\n")
    mpiexec = tmp_path / "mpiexec"
    mpiexec.write_text(f'#!/bin/sh\nPATH={other}:$PATH exec {find_launcher().mpiexec} "$@"\n')
    for program in (other / "python", mpiexec):
        program.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(mpiexec))
    found = f"import sys, sweeper; sweeper.report(loss=float(sys.executable == {sys.executable!r}))"
    assert [point.loss for point in points(run(job(tmp_path, found, 1)))] == [1.0]


def test_a_folder_with_modules_of_our_names_and_words_that_mpiexec_knows(tmp_path: Path) -> None:
    for name in ("engine", "rank", "cores"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('not this one')\n")
    program = "import sys, sweeper\nsweeper.report(loss=len(sys.argv))\n"
    events = run(job(tmp_path, program, 1, ["python", "program.py", "a b", ":", "-n", "x'y"]))
    assert [point.loss for point in points(events)] == [5.0]


def test_what_a_program_leaves_in_the_background_is_ended_with_it(tmp_path: Path) -> None:
    script = 'sleep 600 & echo \'{"sweeper": {"loss": 0.25}}\''
    assert isinstance(run(job(tmp_path, "", 1, ["sh", "-c", script]))[-1], Ended)


def test_a_plain_mpi_program_runs_too(tmp_path: Path) -> None:
    events = run(
        job(
            tmp_path,
            """
            from mpi4py import MPI
            import sweeper
            total = MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.rank + 1)
            sweeper.report(loss=float(total))
            sweeper.report(loss=float("inf"))
            """,
            3,
        )
    )
    assert [point.loss for point in points(events)] == [6.0, math.inf]


FAILING = {
    "raises": ("raise ValueError('enough')", "rank 1: ValueError: enough", "ValueError: enough"),
    "exits": ("sys.exit(3)", "rank 1: ended with exit code 3", ""),
    "exits with a word": (
        *("print('no such file', file=sys.stderr); sys.exit(2)", "rank 1: ended with exit code 2, after 'no such", ""),
    ),
    "is killed": ("os.kill(os.getpid(), 9)", "rank 1: ended with exit code 137", ""),
    "exits its own way": ("os._exit(4)", "rank 1: ended with exit code 4", ""),
    "exits after a traceback that it caught": (
        *("traceback.print_exception(KeyError('harmless')); sys.exit(3)", "rank 1: ended with exit code 3", ""),
    ),
}


@pytest.mark.parametrize("how", FAILING)
def test_a_rank_that_fails_takes_the_others_along(how: str, tmp_path: Path) -> None:
    statement, reason, traceback = FAILING[how]
    events = run(
        job(
            tmp_path,
            f"""
            import os, sys, time, traceback, sweeper
            sweeper.report(loss=2.0)
            if os.environ["RANK"] == "1":
                {statement}
            time.sleep(600)
            """,
        )
    )
    failed = events[-1]
    assert isinstance(failed, Failed)
    assert failed.reason.startswith(reason)
    assert failed.rank == 1
    assert failed.traceback.endswith(traceback)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such-program"], "rank 0: no-such-program: No such file or directory"),
        (["true"], "the command ended without a loss; call sweeper.report(loss=...) on rank 0"),
        (
            ["sh", "-c", 'echo \'INFO {"sweeper": {"loss": 1}}\' >&2'],
            "the command ended without a loss; reports stand in its log: print them on rank 0's standard output",
        ),
    ],
)
def test_a_command_that_trains_nothing_fails_with_the_remedy(words: list[str], said: str, tmp_path: Path) -> None:
    failed = run(job(tmp_path, "", 1, words))[-1]
    assert isinstance(failed, Failed)
    assert failed.reason.startswith(said)


def test_a_loss_that_is_no_number_ends_the_trial_as_diverged(tmp_path: Path) -> None:
    events = run(
        job(
            tmp_path,
            """
            import time, sweeper
            sweeper.report(loss=1.0)
            sweeper.report(loss=float("nan"))
            sweeper.report(loss=1.0)
            time.sleep(600)
            """,
        )
    )
    assert math.isnan(points(events)[-1].loss)
    assert isinstance(events[-1], Ended)
    assert events[-1].outcome == "diverged"


ENDLESS = """
    import signal, time, sweeper
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sweeper.report(loss=1.0)
    time.sleep(600)
    """


def test_a_stopped_command_keeps_what_it_reported(tmp_path: Path) -> None:
    given = job(tmp_path, ENDLESS)
    gang = CommandGang(given)
    events = []
    for happened in gang.run(given):
        events.append(happened.event)
        if isinstance(happened.event, Point):
            gang.stop("another")
            gang.stop("t")
    assert isinstance(events[-1], Ended)
    assert (events[-1].outcome, len(points(events))) == ("stopped", 1)
    assert not list(processes_with(TAG, str(tmp_path)))


def test_a_command_that_says_nothing_for_too_long_fails(tmp_path: Path) -> None:
    failed = run(job(tmp_path, ENDLESS, stall_s=1.0))[-1]
    assert isinstance(failed, Failed)
    assert failed.reason.startswith("reported nothing for limits.stall_seconds, 1")


def test_closing_ends_a_running_command(tmp_path: Path) -> None:
    given = job(tmp_path, ENDLESS)
    gang = CommandGang(given)
    for happened in gang.run(given):
        if isinstance(happened.event, Point):
            threading.Thread(target=gang.close).start()
    assert not list(processes_with(TAG, str(tmp_path)))


@pytest.mark.parametrize("whom", ["supervisor", "mpiexec"])
def test_nothing_outlives_a_supervisor_or_an_mpiexec_that_is_killed(whom: str, tmp_path: Path) -> None:
    given = job(tmp_path, ENDLESS)
    script = f"""
        from sweeper.gangs.base import Job
        from sweeper.gangs.command_gang import CommandGang
        given = Job(**{vars(given)!r})
        gang = CommandGang(given)
        for happened in gang.run(given):
            print(type(happened.event).__name__, gang._mpi.process.pid, flush=True)
        """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, text=True
    ) as supervisor:
        assert supervisor.stdout is not None
        mpiexec = next(int(line.split()[1]) for line in supervisor.stdout if line.startswith("Point"))
        os.kill(supervisor.pid if whom == "supervisor" else mpiexec, signal.SIGKILL)
        assert eventually(lambda: not list(processes_with(TAG, str(tmp_path))))
        supervisor.kill()


def test_a_report_of_something_else_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWEEPER_TRIAL", "t")
    with pytest.raises(TypeError, match="loss='x' is no number"):
        sweeper.report(loss="x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"images=1\.5 is no whole number"):
        sweeper.report(loss=1, images=1.5)  # type: ignore[arg-type]


def test_a_port_is_for_one_command_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rank 0 binds it late; others must not be told of it in the meantime."""
    ports = [_unused_port() for _ in range(3)]
    monkeypatch.setattr(command_gang, "_PORTS", ports)
    with contextlib.ExitStack() as marks:
        found = {}
        for _ in ports:
            port, mark = command_gang._free_port("127.0.0.1")
            found[port] = marks.enter_context(mark)
        assert set(found) == set(ports)
        with pytest.raises(LaunchError, match="no port from"):
            command_gang._free_port("127.0.0.1")
        with socket.create_server(("127.0.0.1", ports[1])):
            found[ports[1]].close()
            with pytest.raises(LaunchError, match="no port from"):
                command_gang._free_port("127.0.0.1")
        port, mark = command_gang._free_port("127.0.0.1")
        marks.enter_context(mark)
        assert port == ports[1]


def _unused_port() -> int:
    """One of those that systems give to connections, which gangs do not take."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def printing(folder: Path, program: str, **report: str) -> Job:
    """A program that knows nothing of a sweep, whose losses are read from what it prints."""
    given = job(folder, program, 1)
    return replace(given, config={**given.config, "report": report})


def test_losses_of_an_unchanged_script_are_read_from_its_lines(tmp_path: Path) -> None:
    script = """
        import sys
        print("epoch 1")
        for step, loss in enumerate((2.5, 1.5), start=1):
            print(f"\\x1b[32mstep {10 * step}\\x1b[0m: loss = {loss}", file=sys.stderr, flush=True)
    """
    *_, first, second, ended = run(printing(tmp_path, script, loss=r"loss = ([0-9.]+)", step=r"step (\d+)"))
    assert isinstance(ended, Ended)
    assert (ended.outcome, ended.steps) == ("completed", 20)
    assert [(one.step, one.loss) for one in points([first, second])] == [(10, 2.5), (20, 1.5)]
    assert "loss = 2.5" in (tmp_path / "gang.log").read_text()


def test_a_pattern_that_fits_no_line_is_told_with_the_last_line(tmp_path: Path) -> None:
    *_, ended = run(printing(tmp_path, "print('Loss 1.5')", loss=r"loss=([0-9.]+)"))
    assert isinstance(ended, Failed)
    assert "no line that rank 0 printed fits trial.report.loss, 'loss=([0-9.]+)'" in ended.reason
    assert "the last lines are 'Loss 1.5'" in ended.reason
    *_, ended = run(printing(tmp_path, "print('loss=1.5')", loss=r"loss=([0-9.]+)", step=r"step (\d+)"))
    assert isinstance(ended, Failed)
    assert r"no line that rank 0 printed fits trial.report.step, 'step (\d+)'; correct" in ended.reason
