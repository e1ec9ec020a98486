"""Whether what ranks need is the same on all hosts of a cluster; checked before a sweep is recorded."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import engine
from cuda_ext import artifact
from engine.errors import ClearError
from sweeper.gangs.launcher import find_launcher

_PACKAGES = ("torch", "mpi4py", "numpy")
_ABSENT = "none"


def facts() -> dict[str, str]:
    """What this host has, by the names that people are told; loads none of it."""
    return {
        "Python": platform.python_version(),
        "Sweeper's code": _digest(Path(engine.__file__).parent),
        **{name: _version(name) for name in _PACKAGES},
        "MPI": _mpi(),
        "compiled operators": artifact.problem() or "built",
    }


def differences(hosts: Mapping[str, Mapping[str, str]]) -> str:
    """In what these hosts, by address, differ, in words; "" where they are alike."""
    found = []
    for name in dict.fromkeys(name for its in hosts.values() for name in its):
        by_value: dict[str, list[str]] = {}
        for address, its in hosts.items():
            by_value.setdefault(its.get(name, _ABSENT), []).append(address)
        if len(by_value) > 1:
            each = "; ".join(f"{value} on {', '.join(addresses)}" for value, addresses in by_value.items())
            found.append(f"{name} ({each})")
    return ", ".join(found)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return _ABSENT


def _mpi() -> str:
    try:
        launcher = find_launcher()
    except ClearError as error:
        return error.message
    return f"{launcher.kind} {launcher.version}"


def _digest(folder: Path) -> str:
    """The contents of a package's modules, in short: versions alone do not tell two checkouts apart."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
