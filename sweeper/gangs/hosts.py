"""A gang over several hosts: where its ranks sit, and the share of one host, by MPICH's manual launcher.

Its mpiexec starts nothing itself. It prints a command for each host, which somebody runs there; the processes then find
back to mpiexec, and no ssh is needed.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

import psutil

from engine import rank
from engine.parent import die_with_parent
from engine.place import ADDRESS_VARIABLE
from engine.shared_memory import mapped_segments, remove_segments
from sweeper.errors import LaunchError
from sweeper.gangs.base import Job
from sweeper.gangs.launcher import find_launcher, rank_environment
from sweeper.gangs.processes import end_job, family

_LAUNCH, _LAST = b"HYDRA_LAUNCH: ", b"HYDRA_LAUNCH_END"
# Paths that differ between hosts, by the variable in which each host gives its own.
_PATHS = {"SWEEPER_PYTHON": sys.executable, "SWEEPER_RANK": str(Path(rank.__file__))}
_VARIABLES = {path: f'"${name}"' for name, path in _PATHS.items()}
_LOOKS = 2
_SHARED_DEVICES = Path("/sys/class/infiniband")


@dataclass(frozen=True)
class Place:
    """A host by the address at which the others reach it, and how many ranks of a gang sit there."""

    address: str
    ranks: int


@dataclass(frozen=True)
class Lost:
    """Why a gang has lost a part of its ranks, in words, and the `host` by its address where it is gone as a whole."""

    reason: str
    host: str = ""


class Hosts(Protocol):
    """The hosts of a gang that spans several. An MPI job calls it from any thread; the first is this process's own."""

    @property
    def places(self) -> Sequence[Place]:
        """Where the ranks sit, in the order of their numbers."""

    def start(self, commands: Sequence[str], variables: Mapping[str, str], lost: Callable[[Lost], None]) -> None:
        """Run mpiexec's commands, one on each host but the first, with `variables` for the ranks.

        `lost` is called once if a host no longer answers, or its ranks have ended. Raises LaunchError where one cannot
        start, LostHostError where one does not answer.
        """

    def missing(self) -> Lost | None:
        """A host that does not answer now, if there is one."""

    def end(self) -> None:
        """End what was started on the other hosts, as far as these answer; safe to call twice."""


class Share:
    """One host's ranks of a gang, below the process that mpiexec's command starts here.

    It leads a session of its own, and dies with this process, however that ends.

    Raises:
        LaunchError: the command cannot be run.
    """

    def __init__(self, job: Job, command: str, variables: Mapping[str, str], address: str) -> None:
        launcher = find_launcher()
        here = {**_PATHS, ADDRESS_VARIABLE: address, **_interface(address)}
        self._environment = {**rank_environment(launcher, job, variables), **here}
        self._words = _local_words(command, launcher.mpiexec)
        self._segments: set[Path] = set()
        self._problem: OSError | None = None
        self._looks = 0  # since its end
        begun = threading.Event()
        # The system ends a process along with the thread that has started it: this one lives as long as the process.
        threading.Thread(target=self._live, args=(begun,), name="share of a gang", daemon=True).start()
        begun.wait()
        if self._problem:
            raise LaunchError(
                f"{self._words[0]} cannot be run on {address} ({self._problem.strerror})", "install MPICH"
            )

    def _live(self, begun: threading.Event) -> None:
        try:
            self._process = subprocess.Popen(
                self._words,
                stdin=subprocess.DEVNULL,
                stdout=2,  # what ranks say goes to mpiexec
                env=self._environment,
                cwd="/",
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        except OSError as error:
            self._problem = error
        begun.set()
        if not self._problem:
            self._process.wait()

    def problem(self) -> str:
        """How it has ended while the gang goes on, in words; told a few looks later, for the gang may end as well."""
        code = self._process.poll()
        self._looks += code is not None
        return f"its ranks have ended, with exit code {code}" if self._looks > _LOOKS else ""

    def processes(self) -> list[psutil.Process]:
        """All that run of it now."""
        return family(self._process.pid) if self._process.poll() is None else []

    def end(self) -> None:
        """End it now, to its last process and its last piece of shared memory; safe from any thread, and twice."""
        members = self.processes()
        self._segments |= mapped_segments([process.pid for process in members])
        end_job(self._process, members)
        remove_segments(self._segments)


def on_any_host(program: Sequence[str]) -> list[str]:
    """The words of a program for hosts on which Python and this project may lie elsewhere: `Share` says where."""
    return ["sh", "-c", " ".join(["exec", *(_VARIABLES.get(word, shlex.quote(word)) for word in program)])]


def read_commands(output: IO[bytes], count: int) -> list[str]:
    """The commands for `count` hosts that an mpiexec prints first.

    Raises:
        LaunchError: it ends without them.
    """
    commands = []
    for line in iter(output.readline, b""):
        if line.startswith(_LAST):
            break
        if line.startswith(_LAUNCH):
            commands.append(line.removeprefix(_LAUNCH).decode().strip())
    if len(commands) != count:
        raise LaunchError(
            f"mpiexec names {len(commands)} commands for the gang's {count} hosts",
            "use MPICH's mpiexec, of version 4 or later",
        )
    return commands


def _local_words(command: str, mpiexec: str) -> list[str]:
    """The words of a command that another host's mpiexec has printed: its first is that host's path."""
    program, *options = shlex.split(command)
    name = Path(program).name
    beside = Path(shutil.which(mpiexec) or mpiexec).resolve().parent / name
    return [str(beside) if beside.exists() else shutil.which(name) or program, *options]


def _interface(address: str) -> dict[str, str]:
    """By which interface ranks speak with other hosts, where the user has not said it: the one with this address."""
    name = next((n for n, its in psutil.net_if_addrs().items() if any(one.address == address for one in its)), None)
    if name is None:
        return {}
    said = dict.fromkeys(("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "FI_TCP_IFACE", "FI_SOCKETS_IFACE"), name)
    if not _SHARED_DEVICES.exists():  # a faster network than this one, if there is one
        said["UCX_NET_DEVICES"] = name
    return {variable: value for variable, value in said.items() if variable not in os.environ}
