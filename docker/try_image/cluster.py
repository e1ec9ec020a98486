"""All services of the compose file, started one after another as they depend on each other, and a sweep on them."""

from __future__ import annotations

import json
import secrets
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from docker.try_image.compose import Service
from docker.try_image.container import Container, Place
from docker.try_image.network import Network
from sweeper.errors import SweeperError

HEALTHY_S = 180.0  # for each service; two cores start a Ray node in 20
SWEEP_S = 300.0
_SPEC = {
    "name": "tried",
    "trial": {"model": "mlp", "data": "digits", "images": 12800},
    "space": {"learning_rate": [0.05, 0.1], "workers": [1, 2]},
    "objective": {"threshold": 2.0},
}
_SERVER = ("--server", "http://127.0.0.1:8400", "--token-file", "/run/secrets/sweeper_token")


@contextmanager
def running(
    services: Sequence[Service], networks: Mapping[str, Network], folder: Path, said: Callable[[str], None] = print
) -> Iterator[Mapping[str, Container]]:
    """The services, each started when those that it depends on are healthy; at the end all are ended, by process id."""
    subprocess.run(["rm", "-rf", folder], check=True)
    names = [name for service in services for name in service.secrets]
    _write_secrets(folder / "secrets", names)
    started: dict[str, Container] = {}
    try:
        for service in services:
            own = [networks[name] for name in service.networks]
            place = Place(folder / service.name, folder / "secrets", folder / "volumes", own)
            said(f"starting {service.name}")
            started[service.name] = Container(service, place)
            started[service.name].wait_until_healthy(HEALTHY_S)
            said(f"{service.name} is healthy")
        yield started
    finally:
        for name, container in reversed(started.items()):
            said(f"{name} ended {'by SIGTERM' if container.stop() else 'by SIGKILL, after the grace'}")


def sweep(service: Container) -> dict[str, Any]:
    """Submit a sweep to the service as its users do, and wait for it; what `sweeper best --json` says.

    Raises SweeperError where a trial has not completed below the threshold.
    """
    spec = "/var/lib/sweeper/tried.json"
    _run(service, ["sh", "-c", 'printf "%s" "$1" > "$2"', "sh", json.dumps(_SPEC), spec])
    _run(service, ["sweeper", "submit", spec, *_SERVER])
    _run(service, ["sweeper", "watch", "tried", *_SERVER])
    best: dict[str, Any] = json.loads(_run(service, ["sweeper", "best", "tried", "--json", *_SERVER]))
    if any(group["qualified"] < group["trials"] for group in best["groups"]):
        raise SweeperError(f"not every trial has learnt: {best}", f"read {service.log}")
    return best


def _run(container: Container, command: Sequence[str]) -> str:
    done = container.execute(command, SWEEP_S)
    if done.returncode:
        raise SweeperError(f"{' '.join(command)} ended with {done.returncode}", done.stderr + container.last_words())
    return done.stdout


def _write_secrets(folder: Path, names: Sequence[str]) -> None:
    """As docker/README.md makes them: random, and readable for the image's user."""
    folder.mkdir(parents=True)
    for name in set(names):
        file = folder / name
        file.write_text(secrets.token_hex(32) + "\n")
        file.chmod(0o444)
