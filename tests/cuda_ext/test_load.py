"""What happens where the compiled operators are missing, stale or damaged, and how they are built."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import psutil
import pytest
import torch

from cuda_ext import artifact
from cuda_ext.build import BuildError, architectures, wants_cuda, what_is_missing

REMEDY = "run `python -m cuda_ext.build`"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package that a test may break."""
    shutil.copytree(artifact.HERE, tmp_path / "cuda_ext", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "cuda_ext"


def python(package: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=package.parent)


def refusal(package: Path) -> str:
    """What the first use of the package says."""
    done = python(package, "-c", "import cuda_ext; cuda_ext.fused_linear")
    assert done.returncode != 0
    return done.stderr.strip().splitlines()[-1]


def names_below(pid: int) -> list[str]:
    """Of the processes that `pid` has started, directly or not."""
    try:
        return [child.name() for child in psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def test_the_package_as_it_is_loads(package: Path) -> None:
    done = python(package, "-c", "import cuda_ext; print(cuda_ext.__file__, cuda_ext.fused_linear.__name__)")
    assert done.stdout.split() == [str(package / "__init__.py"), "fused_linear"]


@pytest.mark.parametrize("name", [artifact.LIBRARY, artifact.NOTE])
def test_missing_operators_are_one_error_with_its_remedy(package: Path, name: str) -> None:
    (package / name).unlink()
    assert refusal(package).endswith(f"ExtensionError: the compiled operators are missing: {REMEDY}")


def test_operators_older_than_their_sources_are_refused(package: Path) -> None:
    source = package / "csrc" / "operators.cpp"
    source.write_text(source.read_text() + "\n")
    assert refusal(package).endswith(f"the compiled operators are older than their sources: {REMEDY}")


def test_operators_of_another_torch_are_refused(package: Path) -> None:
    note = json.loads((package / artifact.NOTE).read_text())
    (package / artifact.NOTE).write_text(json.dumps({**note, "torch": "1.2.3"}))
    expected = f"the compiled operators are for torch 1.2.3, and torch is {version('torch')}: {REMEDY}"
    assert refusal(package).endswith(expected)


def test_a_damaged_library_is_refused(package: Path) -> None:
    library = package / artifact.LIBRARY
    library.write_bytes(library.read_bytes()[:5000])
    assert refusal(package).endswith(f"ExtensionError: the compiled operators are damaged: {REMEDY}")
    library.write_bytes(b"\0" * json.loads((package / artifact.NOTE).read_text())["bytes"])
    said = refusal(package)
    assert "ExtensionError: the compiled operators do not load (" in said
    assert said.endswith(REMEDY)


def test_an_unreadable_note_counts_as_missing(package: Path) -> None:
    for text in ("", "[]", "{}", '{"torch": "2"}'):
        (package / artifact.NOTE).write_text(text)
        assert artifact.problem(package) == "the compiled operators are missing"


def test_the_package_and_its_notes_need_no_torch(package: Path) -> None:
    script = "import sys, cuda_ext.artifact; print(cuda_ext.artifact.problem(), 'torch' in sys.modules)"
    assert python(package, "-c", script).stdout == "None False\n"


def test_many_ranks_that_start_at_once_build_nothing(package: Path) -> None:
    def state() -> dict[str, int]:
        return {str(file): file.stat().st_mtime_ns for file in package.rglob("*") if "__pycache__" not in file.parts}

    before = state()
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", "import cuda_ext; print(cuda_ext.fused_linear.__name__)"]
    ranks = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [rank.communicate()[0] for rank in ranks] == ["fused_linear\n"] * 4
    assert state() == before


@pytest.mark.long
def test_a_killed_build_leaves_the_operators_as_they_were_and_does_not_hinder_the_next(package: Path) -> None:
    before = (package / artifact.LIBRARY).read_bytes()
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    command = [sys.executable, "-m", "cuda_ext.build", "--no-cuda"]
    build = subprocess.Popen(command, env=environment, cwd=package.parent, start_new_session=True)
    while not any("cc1plus" in name for name in names_below(build.pid)):  # until the compiler is at work
        assert build.poll() is None
        time.sleep(0.05)
    os.killpg(build.pid, signal.SIGKILL)
    build.wait()
    assert (package / artifact.LIBRARY).read_bytes() == before
    assert artifact.problem(package) is None
    (package / artifact.LIBRARY).unlink()
    for source in (package / "csrc").glob("*.cpp"):
        source.write_text("")  # which compile in no time
    done = python(package, "-m", "cuda_ext.build", "--no-cuda")
    assert done.stdout == f"built the operators for CPUs, for torch {version('torch')}\n", done.stderr
    done = python(package, "-c", "from cuda_ext import artifact; print(artifact.problem())")
    assert done.stdout == "None\n"
    assert not [file.name for file in package.iterdir() if file.name.startswith(f"{artifact.LIBRARY}.")]


def test_a_failing_compiler_is_one_error(package: Path) -> None:
    for source in (package / "csrc").glob("*.cpp"):
        source.write_text("#error no good\n")
    done = python(package, "-m", "cuda_ext.build", "--no-cuda")
    assert done.returncode == 1
    assert done.stderr.startswith("error: the compiler failed\n")
    assert "no good" in done.stderr
    assert python(package, "-m", "cuda_ext.build", "--if-needed", "--no-cuda").returncode == 1


def test_nothing_is_built_where_nothing_is_needed(package: Path) -> None:
    done = python(package, "-m", "cuda_ext.build", "--if-needed")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_operators_of_the_other_kind_are_not_what_is_needed(package: Path) -> None:
    note = json.loads((package / artifact.NOTE).read_text())
    asked = "--no-cuda" if note["cuda"] else "--cuda"
    for source in (package / "csrc").glob("*.cpp"):
        source.write_text("#error built\n")
    (package / artifact.NOTE).write_text(json.dumps({**note, "sources": artifact_digest(package, note["cuda"])}))
    assert python(package, "-m", "cuda_ext.build", "--if-needed").returncode == 0
    assert python(package, "-m", "cuda_ext.build", "--if-needed", asked).returncode == 1


def artifact_digest(package: Path, cuda: bool) -> str:
    """Of the sources in a copy of the package."""
    done = python(package, "-c", f"from cuda_ext import artifact; print(artifact.source_digest({cuda}))")
    return done.stdout.strip()


def test_architectures_are_those_that_nvcc_knows() -> None:
    assert architectures("sm_70 sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120") == "7.0;7.5;8.0;8.6;8.9;9.0;10.0+PTX"
    assert architectures("sm_75 sm_80 sm_90\n") == "7.5;8.0;9.0+PTX"
    with pytest.raises(BuildError, match="name one with --arch"):
        architectures("sm_50 sm_52")


@pytest.mark.parametrize(
    ("release", "torchs", "missing"),
    [("13.0", "13.0", ""), ("13.1", "13.0", ""), ("12.8", "13.0", "nvcc is of CUDA 12.8, and torch of CUDA 13.0")],
)
def test_a_compiler_of_another_cuda_builds_no_kernels(release: str, torchs: str, missing: str, tmp_path: Path) -> None:
    assert what_is_missing(torchs, str(tmp_path)) == "there is no nvcc"
    (tmp_path / "bin").mkdir()
    nvcc = tmp_path / "bin" / "nvcc"
    nvcc.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release {release}, V{release}.88'\n")
    nvcc.chmod(0o755)
    assert what_is_missing(torchs, str(tmp_path)) == missing
    assert what_is_missing(None, str(tmp_path)) == "this torch is a build without CUDA"


@pytest.mark.skipif(torch.version.cuda is not None, reason="this torch has CUDA")
def test_cuda_kernels_for_a_torch_without_cuda_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SWEEPER_CUDA", raising=False)
    assert wants_cuda() is False
    with pytest.raises(BuildError, match="this torch is a build without CUDA"):
        wants_cuda(True)
    monkeypatch.setenv("SWEEPER_CUDA", "1")
    with pytest.raises(BuildError, match="leave out --cuda and SWEEPER_CUDA"):
        wants_cuda()
    assert wants_cuda(False) is False
