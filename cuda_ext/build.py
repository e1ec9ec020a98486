"""Builds the operators: `python -m cuda_ext.build`, and from setup.py when the project is installed.

CUDA kernels are built where torch has CUDA and nvcc is there, or as `--cuda`, `--no-cuda` or SWEEPER_CUDA (1 or 0) say;
no GPU is needed. Architectures: `--arch`, else TORCH_CUDA_ARCH_LIST, else all of 7.0 to 10.0 that this nvcc knows. A
build works in a folder of its own and puts its result in place at the end: a killed one leaves nothing that matters.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from cuda_ext import artifact

if TYPE_CHECKING:
    from setuptools import Extension

_ARCHITECTURES = ("7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0")
_OPTIMISED = ["-O3", "-std=c++20"]


class BuildError(RuntimeError):
    """The operators cannot be built here; the message says what is missing."""


def wants_cuda(asked: bool | None = None) -> bool:
    """Whether to build the CUDA kernels.

    Raises:
        BuildError: they are asked for, and torch has no CUDA or there is no nvcc.
    """
    import torch
    from torch.utils.cpp_extension import CUDA_HOME

    asked = _asked(asked)
    missing = what_is_missing(torch.version.cuda, CUDA_HOME)
    if asked and missing:
        raise BuildError(f"CUDA kernels are asked for, and {missing}; leave out --cuda and SWEEPER_CUDA, or install it")
    return not missing if asked is None else asked


def what_is_missing(torchs: str | None, home: str | None) -> str:
    """Why CUDA kernels cannot be built for a torch of CUDA `torchs` by the toolkit in `home`; empty where they can."""
    if torchs is None:
        return "this torch is a build without CUDA"
    nvcc = Path(home or "") / "bin" / "nvcc"
    if home is None or not nvcc.exists():
        return "there is no nvcc"
    said = subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout
    found = re.search(r"release (\d+)\.(\d+)", said)
    if found is None or found[1] != torchs.split(".")[0]:
        return (
            f"nvcc is of CUDA {found[0].removeprefix('release ') if found else 'unknown'}, and torch of CUDA {torchs}"
        )
    return ""


def architectures(known: str) -> str:
    """Of 7.0 to 10.0 those in `known` (what `nvcc --list-gpu-code` prints), the newest also for later GPUs."""
    codes = set(known.split())
    chosen = [name for name in _ARCHITECTURES if f"sm_{name.replace('.', '')}" in codes]
    if not chosen:
        raise BuildError(f"this nvcc knows none of the architectures {', '.join(_ARCHITECTURES)}; name one with --arch")
    return ";".join(chosen) + "+PTX"


def extension(cuda: bool) -> Extension:
    """The library as setuptools builds it: no pybind, and so no Python headers."""
    from torch.utils.cpp_extension import CUDA_HOME, CppExtension, CUDAExtension

    root = artifact.HERE.parent
    sources = [str(file.relative_to(root)) for file in artifact.source_files(cuda)]
    # OpenMP's pragmas are compiled in, and its runtime is torch's own: linking another would give two pools of threads.
    compile_args: dict[str, list[str]] = {"cxx": [*_OPTIMISED, "-fvisibility=hidden", "-fopenmp", "-g0"]}
    if not cuda:
        made = CppExtension("cuda_ext._operators", sources, extra_compile_args=compile_args, py_limited_api=True)
    else:
        if "TORCH_CUDA_ARCH_LIST" not in os.environ:
            nvcc = [str(Path(str(CUDA_HOME)) / "bin" / "nvcc"), "--list-gpu-code"]
            os.environ["TORCH_CUDA_ARCH_LIST"] = architectures(subprocess.check_output(nvcc, text=True))
        compile_args["nvcc"] = [*_OPTIMISED, "--threads=2"]
        # torch's own wheels bring headers that a bare toolkit lacks.
        packages = Path(sysconfig.get_paths()["purelib"]) / "nvidia"
        headers = sorted(str(folder) for folder in packages.glob("*/include"))
        made = CUDAExtension(
            "cuda_ext._operators", sources, include_dirs=headers, extra_compile_args=compile_args, py_limited_api=True
        )
    # Only what links without Python: torch's extension helper names its Python library too.
    made.libraries = [name for name in made.libraries if name != "torch_python"]
    made.extra_link_args = [*(made.extra_link_args or []), *_shared_runtime()]
    made.depends = [str(file.relative_to(root)) for file in artifact.SOURCES.rglob("*.h*")]
    made.built = artifact.Built(version("torch"), artifact.source_digest(cuda), cuda)
    return made


def _shared_runtime() -> list[str]:
    """The compiler's shared C++ runtime by its path: one linked in statically could not catch what torch throws."""
    name = "libstdc++.so.6"
    compiler = shlex.split(os.environ.get("CXX", "g++"))
    try:
        found = subprocess.run([*compiler, f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()
    except OSError:
        return []
    return [found] if os.path.isabs(found) else []


def build_command() -> type:
    """setuptools' build_ext that names the library plainly and writes the note beside it."""
    from torch.utils.cpp_extension import BuildExtension

    class BuildOperators(BuildExtension):
        def __init__(self, *arguments: object, **options: object) -> None:
            options.setdefault("no_python_abi_suffix", True)
            options.setdefault("use_ninja", _has_ninja())
            super().__init__(*arguments, **options)

        def get_ext_filename(self, ext_name: str) -> str:
            return str(Path(*ext_name.split(".")[:-1]) / artifact.LIBRARY)

        def run(self) -> None:
            super().run()
            for made in self.extensions:
                made.built.write(Path(self.get_ext_fullpath(made.name)).parent)

    return BuildOperators


def _has_ninja() -> bool:
    from torch.utils.cpp_extension import is_ninja_available

    return bool(is_ninja_available())


def build(cuda: bool | None, verbose: bool = False) -> artifact.Built:
    """Compile in a temporary folder, then put library and note beside this file.

    Raises:
        BuildError: no compiler, or it fails; with `verbose` false the message ends with what it said.
    """
    made = extension(wants_cuda(cuda))
    with tempfile.TemporaryDirectory(prefix="sweeper-build-") as work:
        script = (
            "from setuptools import setup; from cuda_ext.build import build_command, extension; "
            f"setup(name='operators', packages=[], ext_modules=[extension({made.built.cuda})], "
            "cmdclass={'build_ext': build_command()})"
        )
        command = [sys.executable, "-c", script, "build_ext", "--build-lib", work, "--build-temp", f"{work}/objects"]
        paths = os.pathsep.join([str(artifact.HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(
            command,
            cwd=artifact.HERE.parent,
            env={**os.environ, "PYTHONPATH": paths},
            stdout=None if verbose else subprocess.PIPE,
            stderr=None if verbose else subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            raise BuildError(f"the compiler failed\n{_essence(done.stdout or '')}")
        unfinished = artifact.HERE / f"{artifact.LIBRARY}.{os.getpid()}"
        unfinished.write_bytes((Path(work) / "cuda_ext" / artifact.LIBRARY).read_bytes())
        os.replace(unfinished, artifact.HERE / artifact.LIBRARY)
        made.built.write(artifact.HERE)
    built: artifact.Built = made.built
    return built


def _asked(cuda: bool | None) -> bool | None:
    """What was asked for, by argument or else by SWEEPER_CUDA."""
    if cuda is None and os.environ.get("SWEEPER_CUDA"):
        return os.environ["SWEEPER_CUDA"] == "1"
    return cuda


def _is_as_wanted(cuda: bool | None) -> bool:
    note, asked = artifact.read_note(), _asked(cuda)
    return artifact.problem() is None and note is not None and asked in (None, note.cuda)


_SHOWN_LINES = 30


def _essence(output: str) -> str:
    """Of a compiler's output what tells of errors, else its end."""
    lines = output.splitlines()
    telling = [line for line in lines if "error" in line.lower() and not line.startswith(("Traceback", "    "))]
    return "\n".join((telling or lines)[-_SHOWN_LINES:])


def main() -> int:
    """Build, and say what was built."""
    parser = argparse.ArgumentParser(prog="python -m cuda_ext.build", description="Builds the compiled operators.")
    kernels = parser.add_mutually_exclusive_group()
    kernels.add_argument("--cuda", action="store_true", default=None, help="with CUDA kernels, or fail")
    kernels.add_argument("--no-cuda", dest="cuda", action="store_false", help="without CUDA kernels")
    parser.add_argument(
        "--arch", help="CUDA architectures, such as 8.0;9.0; all that nvcc knows from 7.0 to 10.0 otherwise"
    )
    parser.add_argument("--if-needed", action="store_true", help="only where they are missing or stale")
    parser.add_argument("--verbose", action="store_true", help="show the compiler's output")
    given = parser.parse_args()
    if given.if_needed and _is_as_wanted(given.cuda):
        return 0
    if given.arch:
        os.environ["TORCH_CUDA_ARCH_LIST"] = given.arch
    try:
        built = build(given.cuda, given.verbose)
    except BuildError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    kernels_built = "with CUDA kernels" if built.cuda else "for CPUs"
    sys.stdout.write(f"built the operators {kernels_built}, for torch {built.torch}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
