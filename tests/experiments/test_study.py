"""What studies share: they go on from what is recorded, tell no host, and keep tables where the README has them."""

from __future__ import annotations

import json
import lzma
import os
import re
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure

from experiments.study import Study, study_command
from sweeper.errors import UsageError
from sweeper.gangs.machine import usable_cpus
from sweeper.gangs.seat_locks import VARIABLE, SeatLocks
from sweeper.gangs.seats import Seats

SPEC = """\
name: tiny
trial: {model: neuron, data: step-function, steps: 4, batch_size: 8, points: 2}
space: {learning_rate: [0.1, 0.2], workers: [1]}
"""
FAILING = """\
name: failing
trial: {command: [sh, -c, "echo no such file; exit 3"]}
space: {workers: [1]}
"""
README = """\
# Tiny

<!-- table: first -->
old
<!-- end -->
Between.
<!-- table: second -->
kept
<!-- end -->
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "spec.yaml").write_text(SPEC)
    (tmp_path / "README.md").write_text(README)
    return tmp_path


def study_in(folder: Path) -> Study:
    return Study(folder, None, quick=False, executor="local")


def test_a_study_goes_on_from_its_recorded_result_and_tells_no_host(folder: Path) -> None:
    study = study_in(folder)
    first = study.sweep("spec.yaml")
    study.pack()
    study.tidy()
    assert {path.name for path in (folder / "result").iterdir()} == {"sweeps.db.xz"}
    again = study_in(folder)
    assert again.sweep("spec.yaml").id == first.id
    store = folder / "unpacked.db"
    store.write_bytes(lzma.decompress((folder / "result" / "sweeps.db.xz").read_bytes()))
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("SELECT state, count(*) FROM trial GROUP BY 1").fetchall() == [("completed", 2)]
        assert connection.execute("SELECT DISTINCT hosts, pids FROM gang").fetchall() == [('["host"]', "[]")]
        assert connection.execute("SELECT DISTINCT log FROM attempt").fetchall() == [("",)]
        assert connection.execute("SELECT count(*) FROM scheduler").fetchone() == (0,)
    assert str(folder).encode() not in store.read_bytes()


def test_a_failed_command_is_kept_without_places_and_runs_in_another_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "failing.yaml").write_text(FAILING)
    study = study_in(folder)
    found = study.sweep("failing.yaml")
    with closing(sqlite3.connect(study.store)) as connection:
        ((reason,),) = connection.execute("SELECT reason FROM attempt").fetchall()
    assert reason.startswith("rank 0: ended with exit code 3, after 'no such file'; see /")
    study.pack()
    study.tidy()
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    again = study_in(folder)
    assert again.sweep("failing.yaml").id == found.id
    with closing(sqlite3.connect(again.store)) as connection:
        for table in ("trial", "attempt"):
            told = connection.execute(f"SELECT reason FROM {table}").fetchall()
            assert told == [("rank 0: ended with exit code 3, after 'no such file'",)]
        assert connection.execute("SELECT config ->> '$.folder' FROM trial").fetchall() == [(".",)]
        assert connection.execute("SELECT count(*) FROM printed").fetchall() == [(0,)]
    assert str(Path.cwd().parent).encode() not in again.store.read_bytes()


def test_a_sweep_that_is_recorded_with_another_spec_is_not_taken_for_this_one(folder: Path) -> None:
    study_in(folder).sweep("spec.yaml")
    with pytest.raises(UsageError, match="the sweep tiny is recorded with another spec"):
        study_in(folder).sweep("spec.yaml", ["trial.steps=5"])


@pytest.mark.parametrize("alone", [False, True])
def test_times_that_are_compared_wait_for_cores_that_others_have(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "seats"))
    locks = SeatLocks.of_this_machine()
    taken = locks.take(Seats(usable_cpus()))
    assert taken
    if not taken.cores:
        pytest.skip("cores are not told apart in a container with a quota")
    study = study_in(folder)
    given_back = threading.Timer(3.0 if alone else 0.0, locks.give_back, [taken])
    if alone:  # else nothing may free the cores before the sweep has looked at them
        given_back.start()
    sweep = study.sweep("spec.yaml", oversubscribe=True, one_at_a_time=alone)
    if not alone:
        given_back.start()
    given_back.join()
    with study.reading() as store:
        assert any(trial.oversubscribed for trial in store.trials.of(sweep.id)) is not alone


def test_a_store_that_a_run_has_left_does_not_replace_a_newer_result(folder: Path) -> None:
    study = study_in(folder)
    store = study.store
    store.write_bytes(b"")
    packed = store.with_name("sweeps.db.xz")
    packed.write_bytes(lzma.compress(b""))
    os.utime(store, (1, 1))
    with pytest.raises(UsageError, match="is older than the recorded result"):
        assert study_in(folder).store


def test_devices_keep_their_short_names(folder: Path) -> None:
    study = study_in(folder)
    study.sweep("spec.yaml")
    names: list[list[str]] = []
    for _ in range(2):
        with closing(sqlite3.connect(study.store)) as connection:
            if not names:
                connection.execute("UPDATE attempt SET effective = json_set(effective, '$.device_uuid', trial_id)")
                connection.commit()
        study.pack()
        study.tidy()
        study = study_in(folder)
        with closing(sqlite3.connect(study.store)) as connection:
            found = connection.execute("SELECT effective ->> 'device_uuid' FROM attempt ORDER BY trial_id").fetchall()
        names.append([name for (name,) in found])
    assert names[0] == names[1]
    assert len(set(names[0])) == 2
    assert all(re.fullmatch("device [0-9a-f]{8}", name) for name in names[0])


def test_tables_go_where_the_readme_has_them_and_others_stay(folder: Path) -> None:
    study = study_in(folder)
    study.table("first", ["a", "b"], [[1, "x"], [2, "y"]])
    study.write_tables()
    assert (folder / "README.md").read_text() == README.replace(
        "old\n", "| a | b |\n| --- | --- |\n| 1 | x |\n| 2 | y |\n"
    )
    study.table("third", ["a"], [])
    with pytest.raises(UsageError, match="has no place for the table 'third'"):
        study.write_tables()


def test_tables_without_rows_are_left_out_where_there_is_no_readme(folder: Path, tmp_path: Path) -> None:
    study = Study(folder, tmp_path / "into", quick=True, executor="local")
    study.table("empty", ["a"], [])
    study.table("first", ["a"], [[1]])
    assert study.write_tables() == [f"Wrote {tmp_path / 'into' / 'tables.md'}: first"]
    assert (tmp_path / "into" / "tables.md").read_text() == "## first\n\n| a |\n| --- |\n| 1 |\n"


def test_the_command_says_where_tables_and_figures_are(folder: Path, tmp_path: Path) -> None:
    def show(study: Study) -> None:
        study.table("first", ["a"], [[1]])
        study.figure("drawn", Figure())

    command: click.Command = study_command(str(folder / "__main__.py"), print, show)
    done = CliRunner().invoke(command, ["--redraw"])
    assert done.output.splitlines() == [
        f"Wrote {folder / 'README.md'}: first",
        f"Wrote {folder / 'figures'}: drawn.svg",
    ]
    done = CliRunner().invoke(command, ["--redraw", "--into", str(tmp_path / "other")])
    assert f"Wrote {tmp_path / 'other' / 'tables.md'}: first" in done.output


def test_measurements_are_kept_a_row_a_line(folder: Path) -> None:
    study, rows = study_in(folder), [{"value": 1.5, "unit": "ms"}, {"value": 2.5, "unit": "ms"}]
    assert study.measured("times") == []
    study.record("times", rows)
    assert study.measured("times") == rows
    assert json.loads((folder / "result" / "times.json").read_text()) == rows


def test_the_command_keeps_what_an_interrupted_run_has_recorded(folder: Path) -> None:
    def run(study: Study) -> None:
        study.sweep("spec.yaml")
        raise KeyboardInterrupt

    def show(study: Study) -> None:
        with study.reading() as store:
            study.table("first", ["trials"], [[store.sweeps.all()[0].trials]])

    command: click.Command = study_command(str(folder / "__main__.py"), run, show)
    assert CliRunner().invoke(command, []).exit_code == 1
    assert (folder / "result" / "sweeps.db.xz").exists()
    assert CliRunner().invoke(command, ["--redraw"]).exit_code == 0
    assert "| 2 |" in (folder / "README.md").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--quick"], "--quick needs --into"), (["--only", "nothing"], "'nothing' is not"), (["--executor", "x"], "'x'")],
)
def test_what_cannot_be_run_is_rejected(words: list[str], said: str, folder: Path) -> None:
    command = study_command(str(folder / "__main__.py"), print, print, ("part",))
    done = CliRunner().invoke(command, words)
    assert done.exit_code == 2
    assert said in done.output
