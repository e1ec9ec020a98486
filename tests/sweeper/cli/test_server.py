"""A service and its commands, as people use them: real server, real ranks, another time zone, restarts."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sweeper.client import Client
from sweeper.errors import AccessError, NotFoundError, ServerError, SpecError
from tests.processes import eventually
from tests.serving import Serving
from tests.sweeper.cli.commands import ENDLESS, begin, here, number, others, rows

SPEC = """
name: '实验 #1/日本 "x" <b>'
trial: {model: neuron, data: step-function, images: 640, points: 10}
space: {learning_rate: [0.1, 0.2], workers: [1, 2]}
objective: {over: images}
"""
DOCUMENT = Path(__file__).parents[3] / "docs" / "service.md"
TOKEN, READ = "t" * 24, "r" * 24


@pytest.fixture
def serving(spec: Path) -> Iterator[Serving]:
    server = Serving()
    assert spec.exists()
    yield server
    server.end()


def told(*arguments: str, code: int = 0, **variables: str) -> tuple[str, str]:
    """Standard output and standard error of a command, in a process of its own only where it gets variables."""
    if not variables:
        return here(*arguments, code=code)
    process = subprocess.run(
        [sys.executable, "-m", "sweeper.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, **variables},
    )
    assert process.returncode == code, process.stderr
    return process.stdout, process.stderr


def test_submit_watch_best_from_another_zone(serving: Serving, spec: Path, tmp_path: Path) -> None:
    at = ("--server", serving.url)
    out, _ = told("submit", str(spec), *at, "--key", "mine", "--json")
    first = json.loads(out)
    assert (first["new"], first["trials"]) == (True, 4)
    assert json.loads(told("submit", str(spec), *at, "--key", "mine", "--json")[0]) == {**first, "new": False}
    out, err = told("watch", first["name"], *at, TZ="Asia/Tokyo")
    assert "completed, 4 of 4 trials ended" in err
    assert "workers" in out
    assert out.splitlines()[-1].endswith(": completed")
    best = json.loads(told("best", "latest", *at, "--json", TZ="America/New_York")[0])
    assert best == json.loads(told("best", "latest", "--json")[0])
    assert [group["qualified"] for group in best["groups"]] == [2, 2]
    out, _ = told("watch", first["sweep"], "--json")  # the same of the store, when all is over
    assert json.loads(out.splitlines()[0])["ended"] == 4
    shown = json.loads(told("show", "latest", "--json")[0])
    with Client(serving.url) as client:
        assert client.status(first["sweep"])["created_at"].endswith("+00:00")
    assert all(trial["seconds"] > 0 for trial in shown["trials"])
    assert number(tmp_path, "SELECT count(*) FROM sweep") == 1
    assert eventually(lambda: len(others(tmp_path)) == 1)  # the server


def test_stop_by_the_server(serving: Serving, spec: Path, tmp_path: Path) -> None:
    at = ("--server", serving.url)
    sweep_id = json.loads(told("submit", str(spec), *at, *ENDLESS, "--json")[0])["sweep"]
    assert eventually(lambda: number(tmp_path, "SELECT count(*) FROM loss_point") > 0, 60)
    watching = begin("watch", sweep_id, *at)
    out, _ = told("stop", sweep_id[:6], *at)
    assert ": stopped; " in out
    assert re.search(r"[12] running trials? ended, 0 still running\n$", out)
    _, err = watching.communicate(timeout=60)
    assert watching.returncode == 0, err
    assert {state for (state,) in rows(tmp_path, "SELECT state FROM trial")} == {"cancelled"}


@pytest.mark.parametrize("number_", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_a_server_that_ends_is_followed_by_one_that_goes_on(
    number_: signal.Signals, spec: Path, tmp_path: Path
) -> None:
    server = Serving()
    long = ("--set", "trial.images=640000", "--set", "space.workers=[1]")
    sweep_id = json.loads(told("submit", str(spec), "--server", server.url, *long, "--json")[0])["sweep"]
    assert eventually(lambda: number(tmp_path, "SELECT count(*) FROM loss_point") > 0, 60)
    server.end(number_)
    assert eventually(lambda: not others(tmp_path), 60)
    assert number(tmp_path, "SELECT count(*) FROM trial WHERE state = 'completed'") < 2
    again = Serving()
    try:
        told("watch", sweep_id, "--server", again.url)
        assert rows(tmp_path, "SELECT state FROM trial") == [("completed",)] * 2
        assert number(tmp_path, "SELECT count(*) FROM attempt WHERE state = 'completed'") == 2
    finally:
        again.end()
    assert eventually(lambda: not others(tmp_path))


def test_tokens(spec: Path, tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(f"{TOKEN}\nread {READ}\n")
    (tmp_path / "reader").write_text(READ)
    server = Serving("--host", "0.0.0.0", "--token-file", "tokens")
    try:
        at = ("--server", server.url.replace("0.0.0.0", "127.0.0.1"))
        _, err = told("submit", str(spec), *at, code=1)
        assert err == "error: token: is missing; send Authorization: Bearer TOKEN\n"
        _, err = told("submit", str(spec), *at, "--token-file", "reader", "--json", code=1)
        assert json.loads(err)["error"]["kind"] == "access"
        told("submit", str(spec), *at, SWEEPER_TOKEN=TOKEN)
        assert told("best", "latest", *at, "--token-file", "reader", "--json")[0]
        assert TOKEN not in " ".join(server.process.args)  # type: ignore[arg-type]
    finally:
        server.end()
    looking = Serving("--look-only")
    try:
        _, err = told("submit", str(spec), "--server", looking.url, "--json", code=1)
        assert json.loads(err)["error"]["message"] == "this server only shows sweeps"
        assert told("best", "latest", "--server", looking.url)[0]
    finally:
        looking.end()
    _, err = told("serve", "--look-only", "--store", "sqlite:///mistyped.db", code=1)
    assert "there is no such file" in err
    assert not (tmp_path / "mistyped.db").exists()
    _, err = told("serve", "--host", "0.0.0.0", code=1)
    assert "others can reach this address, and no token is set; give --token-file" in err


def test_what_a_server_refuses_is_the_error_that_the_library_raises(serving: Serving) -> None:
    with Client(serving.url) as client:
        with pytest.raises(NotFoundError, match="no such sweep"):
            client.find("none")
        with pytest.raises(SpecError, match="name: is missing"):
            client.submit({}, "key")
        code: dict[str, Any] = {"name": "c", "trial": {"command": ["true", "{x}"]}, "space": {"x": [1]}}
        with pytest.raises(AccessError, match="runs no commands"):
            client.submit(code, "key")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "nonsense", "http://", "http://[", "ftp://127.0.0.1"])
def test_a_server_that_is_not_there_is_one_line(url: str) -> None:
    with pytest.raises(ServerError) as refused, Client(url) as client:
        client.find("latest")
    assert "\n" not in str(refused.value)
    assert url in str(refused.value)


def test_the_python_of_the_document_runs(serving: Serving) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), flags=re.DOTALL)
    block = block.replace("http://127.0.0.1:8400", serving.url)
    process = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, timeout=200)
    assert process.returncode == 0, process.stderr
    *progress, groups = process.stdout.splitlines()
    assert progress[-1].startswith("2 ")
    assert "'qualified': " in groups


def test_a_port_that_is_taken_is_one_line(serving: Serving) -> None:
    port = serving.url.rpartition(":")[2]
    _, err = told("serve", "--port", port, code=1)
    assert err.startswith(f"error: --port {port}: cannot listen on 127.0.0.1 (")
    assert err.count("\n") == 1


def test_watch_tells_what_keeps_a_sweep_from_being_run(spec: Path, tmp_path: Path) -> None:
    server = Serving("--allow-commands")
    try:
        at = ("--server", server.url)
        model = ("--set", "trial.model=nowhere_at_all:Network")
        sweep_id = json.loads(told("submit", str(spec), *at, *model, "--json")[0])["sweep"]
        for where in (at, ()):
            _, err = told("watch", sweep_id, *where, code=1)
            assert "the sweep cannot be run: " in err
            assert "nowhere_at_all" in err
        assert number(tmp_path, "SELECT count(*) FROM trial WHERE state = 'pending'") == 4
    finally:
        server.end()
