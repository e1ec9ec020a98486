"""Standard output and error that are gone, full, or cannot show what is printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from sweeper.store import open_store
from tests.sweeper.cli.commands import rows
from tests.sweeper.interchange.archived_sweeps import NAME, fill

SPEC = """
name: Prüfung 日本
trial:
  command: [python, train.py, "{optimizer}"]
space: {optimizer: [groß, 日本]}
"""
TRAIN = """
import sweeper
for step in range(1, 4):
    sweeper.report(loss=1 / step, step=step, images=step)
"""
SWEEPER = f"{sys.executable} -m sweeper.cli"
CP1252 = {"PYTHONIOENCODING": "cp1252"}
C_LOCALE = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """What a shell makes of a command; its exit code is that of the first part of a pipe that fails."""
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, check=False, env={**os.environ, **environment}
    )


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with a sweep in the working folder."""
    monkeypatch.chdir(tmp_path)
    store = open_store("sqlite:///sweeper.db")
    sweep = fill(store)
    store.close()
    return sweep


@pytest.fixture
def training(spec: Path) -> Path:
    """A spec of commands whose parameters and name are not ASCII."""
    (spec.parent / "train.py").write_text(TRAIN)
    return spec


@pytest.mark.parametrize(
    "ending",
    [
        "2>err | head -1",
        "--json 2>&1 | true",
        ">&- 2>err",
        "<&- >&- 2>&-",
        ">/dev/full 2>/dev/full",
    ],
)
def test_a_sweep_goes_on_without_its_streams(training: Path, ending: str) -> None:
    done = shell(f"{SWEEPER} run {training} --executor local {ending}")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "Traceback" not in (training.parent / "err").read_text() if "2>err" in ending else True
    # The first file that is opened would get the number of a stream that is closed, and all that is printed.
    assert (training.parent / "sweeper.db").read_bytes().startswith(b"SQLite format 3\0")
    assert rows(training.parent, "SELECT state, points FROM trial") == [("completed", 3)] * 2


@pytest.mark.parametrize("environment", [CP1252, pytest.param(C_LOCALE, marks=pytest.mark.long)])
def test_a_sweep_goes_on_whatever_its_streams_can_show(training: Path, environment: dict[str, str]) -> None:
    done = shell(f"{SWEEPER} run {training} --executor local --json", **environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["name"] == "Prüfung 日本"
    assert b"[2/2] workers 1, optimizer " in done.stderr
    assert b"Traceback" not in done.stderr
    assert rows(training.parent, "SELECT state, points FROM trial") == [("completed", 3)] * 2
    for command in ("list", "show 'Prüfung 日本'", "best --help"):
        done = shell(f"{SWEEPER} {command}", **environment)
        assert (done.returncode, done.stderr) == (0, b""), command
    done = shell(f"{SWEEPER} best latest --spec", **environment)
    assert YAML(typ="safe").load(done.stdout.decode())["name"].startswith("Prüfung 日本")
    done = shell(f"{SWEEPER} show 日本 --json", **environment)
    assert (done.returncode, json.loads(done.stderr)["error"]["kind"]) == (1, "not-found")


@pytest.mark.parametrize("environment", [CP1252, C_LOCALE])
@pytest.mark.usefixtures("sweep")
def test_json_is_json_in_any_encoding(environment: dict[str, str]) -> None:
    done = shell(f"{SWEEPER} list --json", **environment)
    assert json.loads(done.stdout)["sweeps"][0]["name"] == NAME
    assert done.stdout.isascii()


@pytest.mark.parametrize(
    "command",
    ["list", "best latest", "list --json", "export latest -o - --format json"],
)
@pytest.mark.usefixtures("sweep")
def test_what_is_read_ends_when_its_reader_has_gone(command: str) -> None:
    done = shell(f"{SWEEPER} {command} | true")
    assert (done.returncode, done.stdout, done.stderr) == (141, b"", b"")


@pytest.mark.parametrize(("ending", "why"), [(">&-", "it is closed"), (">/dev/full", "No space left on device")])
@pytest.mark.usefixtures("sweep")
def test_an_answer_that_cannot_be_written_is_an_error(ending: str, why: str) -> None:
    done = shell(f"{SWEEPER} list {ending}")
    told = f"error: standard output cannot be written ({why}); redirect it to a file with room, or to /dev/null\n"
    assert (done.returncode, done.stderr.decode()) == (1, told)
    assert shell(f"{SWEEPER} list {ending} 2>&-").returncode == 1


_IN_PYTHON = """
import sys
import sweeper
sweep = sweeper.run("sweep.yaml", executor="local")
print(len(sweep.trials()), file=sys.stderr)
"""


@pytest.mark.parametrize(("ending", "environment"), [("| true", CP1252), (">&-", C_LOCALE)])
def test_a_sweep_of_pythons_goes_on_as_well(training: Path, ending: str, environment: dict[str, Any]) -> None:
    (training.parent / "own.py").write_text(_IN_PYTHON)
    done = shell(f"{sys.executable} own.py {ending}", **environment)
    assert done.stderr.decode().splitlines()[0] == "2", done.stderr
    assert rows(training.parent, "SELECT state, points FROM trial") == [("completed", 3)] * 2
