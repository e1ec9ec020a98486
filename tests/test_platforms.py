"""The pages of the platforms: their commands run here as they stand there, or are at least ones that exist."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import click
import psutil
import pytest

from sweeper.cli.main import cli, main
from sweeper.guides.samplers import first_points
from sweeper.plan import plan
from sweeper.spec import parse_spec
from sweeper.spec.file import parse_yaml
from sweeper.store import open_store
from tests.dashboards.sweeps import curve, run
from tests.processes import eventually
from tests.serving import Serving

ROOT = Path(__file__).parent.parent
PAGES = ("laptop", "gpu-box", "ray-cluster", "containers")
TEXTS = {page: (ROOT / "docs" / f"{page}.md").read_text() for page in PAGES}
PARTS = ("What to know", "What goes wrong")
# What a command may begin with besides `sweeper`.
TOOLS = {"openssl", "chmod", "mkdir", "for", "export", "docker", "docker/ray_node.sh", "kubectl", "tr", "sudo"}
TOOLS |= {"unplug", "plug", "kill_host", "sleep", "wait", "exit"}  # of the shell of `make try-cluster`

TOO_MANY = ["--set", "space.workers=[512]", "--set", "trial.images=100000"]


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", TEXTS[page], flags=re.DOTALL)


def in_blocks(page: str) -> list[list[str]]:
    """The words of each command of its blocks, in order, without comments and the sign for the background."""
    lines = [line for block in blocks(page, "sh") for line in block.splitlines() if line.strip()]
    return [[word for word in shlex.split(line, comments=True) if word != "&"] for line in lines]


def in_sentences(page: str) -> list[list[str]]:
    """The words of commands within its sentences and tables."""
    return [shlex.split(line) for line in re.findall(r"`((?:sweeper|docker compose) [^`]+)`", TEXTS[page])]


def sweepers(page: str) -> list[list[str]]:
    """The arguments of the `sweeper` commands of its blocks."""
    return [words[1:] for words in in_blocks(page) if words[0] == "sweeper"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that a person works in, with the laptop's spec."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "first.yaml").write_text(*blocks("laptop", "yaml"))
    return tmp_path


def called(arguments: list[str]) -> object:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    return exit_.value.code


@pytest.mark.parametrize("page", PAGES)
def test_each_page_has_its_parts_and_is_found(page: str) -> None:
    headings = re.findall(r"^## (.+)$", TEXTS[page], flags=re.MULTILINE)
    assert any("from nothing to the first ranking" in heading.lower() for heading in headings)
    assert headings[-2:] == list(PARTS)
    assert f"(docs/{page}.md)" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("page", PAGES)
def test_its_commands_exist(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWEEPER_SERVER", "http://127.0.0.1:8400")
    (folder / "gpu.yaml").touch()
    (folder / "docker/secrets").mkdir(parents=True)
    (folder / "docker/secrets/sweeper_token").touch()
    for first, *words in [*in_blocks(page), *in_sentences(page)]:
        assert first in TOOLS or first == "sweeper", first
        for word in (first, *words):
            assert not re.match(r"docker/(?!secrets)", word) or (ROOT / word).exists(), word
        if first == "sweeper" and words[1:]:
            _parse(cli, words)


def _parse(command: click.Command, words: list[str]) -> None:
    """Raises UsageError for commands and options that there are not, and for files that are missing."""
    while isinstance(command, click.Group):
        name, *words = words
        assert name in command.list_commands(click.Context(command)), name
        command = command.get_command(click.Context(command), name) or command
    command.make_context("sweeper", words)


@pytest.mark.parametrize(
    ("page", "made"),
    [
        (
            "containers",
            {f"docker/secrets/{name}": 0o444 for name in ("sweeper_token", "database_password", "ray_token")},
        ),
        ("ray-cluster", {"ray_token": 0o600}),
    ],
)
def test_the_secrets_are_made_as_the_page_says(page: str, made: dict[str, int], folder: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    lines = [line for line in blocks(page, "sh")[0].splitlines() if not line.startswith("docker compose")]
    subprocess.run(["bash", "-euc", "\n".join(lines)], check=True, cwd=folder)
    for name, mode in made.items():
        assert re.fullmatch(r"[0-9a-f]{64}\n", (folder / name).read_text())
        assert (folder / name).stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("page", ["laptop", "gpu-box"])
def test_its_specs_can_be_planned(page: str) -> None:
    (block,) = blocks(page, "yaml")
    assert plan(parse_spec(parse_yaml(block, page)), first_points)


def test_the_laptops_questions_are_answered(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On a store that holds the sweep; running it has tests of its own, and one below."""
    with closing(open_store("sqlite:///sweeper.db")) as store:
        run(store, {"learning_rate": [0.05, 0.1], "workers": [1, 2]}, lambda _: curve(3.0, 0.5), name="first")
    arguments = sweepers("laptop")
    assert [words[0] for words in arguments] == ["doctor", "run", "best", "plot"]
    assert not any(called(words) for words in arguments[2:])
    assert "2/2" in capsys.readouterr().out
    assert (folder / "first.png").exists()


@pytest.mark.long
def test_the_laptops_commands_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not any(called(words) for words in sweepers("laptop"))
    assert "2/2" in capsys.readouterr().out
    assert (folder / "first.png").exists()
    assert called(["run", "first.yaml"]) == 1
    told = capsys.readouterr().err
    assert "has this spec, and 4 of its 4 trials have ended" in told


@pytest.mark.long
def test_the_containers_commands_run_against_a_service(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    token = folder / "docker/secrets/sweeper_token"
    token.parent.mkdir(parents=True)
    token.write_text("a" * 32)
    serving = Serving("--token-file", str(token))
    monkeypatch.setenv("SWEEPER_SERVER", serving.url)
    try:
        arguments = sweepers("containers")
        assert [words[0] for words in arguments] == ["submit", "watch", "best"]
        assert not any(called(words) for words in arguments)
        assert "2/2" in capsys.readouterr().out
    finally:
        serving.end()


@contextmanager
def _node(role: str, *options: str) -> Iterator[None]:
    """A node of a Ray cluster as the page starts it, until the block ends; then it and its processes are ended."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    words = [str(ROOT / "docker/ray_node.sh"), role, "--node-ip-address=127.0.0.1", *options]
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        assert eventually(lambda: not any(one.is_running() for one in family))


@pytest.mark.long
def test_the_ray_clusters_commands_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"127.0.0.1:{port}"
    (folder / "ray_token").write_text("b" * 64)
    for name, value in {"MODE": "token", "TOKEN_PATH": str(folder / "ray_token")}.items():
        monkeypatch.setenv(f"RAY_AUTH_{name}", value)
    monkeypatch.setenv("RAY_HEAD", address)
    arguments = [[word.replace("$RAY_HEAD", address) for word in words] for words in sweepers("ray-cluster")]
    run, best = arguments[:2]
    assert (run[0], best[0]) == ("run", "best")
    with _node("head", f"--port={port}", "--num-cpus=0"):
        assert eventually(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, timeout_s=60.0)
        with _node("worker", "--num-cpus=2"):
            assert eventually(lambda: not called(run), timeout_s=120.0)  # rejected until the worker has joined
            assert not called(best)
            assert "2/2" in capsys.readouterr().out
        (folder / "ray_token").write_text("c" * 64)
        assert called([*run, "--again"]) == 1
        assert f"Ray at {address} does not answer (Failed to connect to Ray cluster" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("page", "arguments", "told", "explained"),
    [
        (
            "laptop",
            TOO_MANY,
            "512 cannot be seated: a worker takes 1 CPU, and the largest host has",
            "",
        ),
        (
            "gpu-box",
            [*TOO_MANY, "--set", "resources.gpus_per_worker=1"],
            "a worker takes 1 CPU and 1 GPU, and the largest host has",
            "",
        ),
        (
            "ray-cluster",
            ["--ray-address", "127.0.0.1:1"],
            "Ray at 127.0.0.1:1 does not answer (",
            "Ray at 10.0.0.1:6379 does not answer (",
        ),
        (
            "ray-cluster",
            ["--ray-address", "http://10.0.0.1:8265"],
            "Ray address http://10.0.0.1:8265: not the address of a cluster's control service",
            "",
        ),
    ],
)
def test_messages_are_those_that_the_pages_explain(
    page: str, arguments: list[str], told: str, explained: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert called(["run", "first.yaml", *arguments]) == 1
    assert told in capsys.readouterr().err
    assert (explained or told.removeprefix("512 ")) in TEXTS[page]
