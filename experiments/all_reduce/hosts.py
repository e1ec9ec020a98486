"""Ranks over hosts that are network namespaces of this machine, joined by cables of a known speed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sweeper.gangs.hosts import read_commands
from sweeper.gangs.launcher import Launcher, find_launcher
from tests.cluster.network import BY_NETWORK, Host, network

CABLE_MBIT = 1000.0


@contextmanager
def two_hosts() -> Iterator[list[Host]]:
    """Two hosts, each on a cable of 1 Gbit/s; gone in the end. Needs root."""
    with tempfile.TemporaryDirectory() as folder, network(2, Path(folder)) as hosts:
        for host in hosts:
            host.shape(CABLE_MBIT)
        yield hosts


def told_over(hosts: Sequence[Host], ranks: int, module: str, arguments: Sequence[str], *, crowded: bool) -> Any:
    """What rank 0 of `python -m module arguments` prints as JSON, with so many ranks spread evenly over the hosts.

    Raises:
        LaunchError: there is no mpiexec that can start ranks on other hosts.
        CalledProcessError: a rank has failed; what it said is on standard error.
    """
    launcher = find_launcher()
    places = [(host.address, ranks // len(hosts)) for host in hosts]
    program = [sys.executable, "-m", "mpi4py", "-m", module, *arguments]
    command = hosts[0].command(launcher.command_over(places, program, os.getcwd()))
    environments = [_environment(launcher, host, crowded=crowded) for host in hosts]
    mpiexec = subprocess.Popen(command, env=environments[0], stdout=subprocess.PIPE)
    assert mpiexec.stdout
    started = [mpiexec]
    try:
        commands = read_commands(mpiexec.stdout, len(hosts))
        for host, environment, share in zip(hosts, environments, commands, strict=True):
            started.append(subprocess.Popen(host.command(shlex.split(share)), env=environment, stdout=2))
        said = mpiexec.stdout.read()
        if code := mpiexec.wait():
            raise subprocess.CalledProcessError(code, command)
        return json.loads(said)
    finally:
        for process in started:
            process.kill()
            process.wait()


def _environment(launcher: Launcher, host: Host, *, crowded: bool) -> dict[str, str]:
    own = {"UCX_NET_DEVICES": host.interface, "PYTHONPATH": os.getcwd()}
    return {**launcher.environment(os.environ, 1, crowded=crowded), **BY_NETWORK, **own}
