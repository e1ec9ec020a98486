"""A Ray cluster on this machine, to try things on: `python -m tests.cluster`, as root.

Its hosts are network namespaces, with a raylet and a data folder each. You get a shell on the first one, in which
`try_cluster_shell` defines further commands; when you leave it, nothing of the cluster remains. With words after `--`
these run in place of the shell, and their exit code is the result.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from tests.cluster.network import Host, why_no_delay, why_no_network
from tests.cluster.ray_hosts import RayHosts, ray_hosts

_SHELL = Path(__file__).with_name("try_cluster_shell")
_LOOK_S = 2.0


def main(words: Sequence[str] | None = None) -> int:
    """Bring the cluster up, run the shell or the words there, take it down; the exit code of what has run."""
    given = _parse(words)
    if problem := why_no_network() or (given.delay_ms and why_no_delay()):
        click.echo(f"This machine cannot run the cluster: {problem}", err=True)
        return 2
    signal.signal(signal.SIGINT, lambda *_: None)  # ctrl-C is for what runs in the shell
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))  # hosts are to be taken down
    click.echo(f"Starting {given.hosts} hosts; this takes half a minute.", err=True)
    with ray_hosts(given.hosts, given.cpus) as cluster:
        for host in cluster.hosts if given.mbit or given.delay_ms else ():
            host.shape(given.mbit, given.delay_ms)
        with _looked_after(cluster):
            return _run(cluster, given.words or ["bash", "--rcfile", str(_SHELL)])


def _run(cluster: RayHosts, words: Sequence[str]) -> int:
    first = cluster.hosts[0]
    cluster_variables = {
        "RAY_HEAD": cluster.address,
        "SWEEPER_HOSTS": " ".join(host.namespace for host in cluster.hosts),
        "SWEEPER_SWITCH": first.switch,
        "PATH": f"{Path(sys.executable).parent}:{cluster.environment(first)['PATH']}",
    }
    return subprocess.run(
        first.command(words), env=cluster.environment(first) | cluster_variables, check=False
    ).returncode


@contextmanager
def _looked_after(cluster: RayHosts) -> Iterator[None]:
    """Start a raylet wherever one but the head has ended, as a machine's service manager would."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(_LOOK_S):
            for host in filter(_has_ended, cluster.hosts[1:]):
                cluster.begin(host)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _has_ended(host: Host) -> bool:
    return host.started[-1].poll() is not None


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.cluster",
        description="A Ray cluster of network namespaces, and a shell on its first host.",
    )
    parser.add_argument("--hosts", type=int, default=3, help="how many (3)")
    parser.add_argument("--cpus", type=int, default=1, help="the cores that Ray gives out on each (1)")
    parser.add_argument("--mbit", type=float, help="the rate of each cable, in Mbit/s (unlimited)")
    parser.add_argument("--delay-ms", type=float, default=0.0, help="how long each packet takes, in ms (0)")
    parser.add_argument("words", nargs="*", metavar="COMMAND", help="run this instead of a shell; after --")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
