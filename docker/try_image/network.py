"""The networks of a compose file: each is a bridge, on which every connected container has an address."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from docker.try_image.compose import Service


@dataclass(frozen=True)
class Network:
    """A network; its containers reach each other by address and name, and no other network's."""

    number: int
    internal: bool  # whether nothing else is reached through it
    members: tuple[str, ...]

    @property
    def bridge(self) -> str:
        """The network's device."""
        return f"sweeper{self.number}"

    def address(self, name: str) -> str:
        """A member's address; the bridge itself has .1."""
        return f"10.87.{self.number}.{self.members.index(name) + 2}"

    @property
    def gateway(self) -> str:
        """Where its containers send what is for elsewhere."""
        return f"10.87.{self.number}.1"

    def names(self) -> list[str]:
        """Its lines of /etc/hosts."""
        return [f"{self.address(name)} {name}" for name in self.members]


def make_networks(written: Mapping[str, Any], services: Iterable[Service]) -> dict[str, Network]:
    """The networks of a compose file, by name, each with its bridge."""
    made = {}
    for number, (name, options) in enumerate(written.items()):
        members = tuple(service.name for service in services if name in service.networks)
        network = Network(number, bool((options or {}).get("internal")), members)
        _ip("link", "add", network.bridge, "type", "bridge")
        _ip("address", "add", f"{network.gateway}/24", "dev", network.bridge)
        _ip("link", "set", network.bridge, "up")
        made[name] = network
    return made


def connect(process: int, name: str, networks: Sequence[Network]) -> None:
    """Give the network namespace of a process its device and address in each network."""
    own = ["nsenter", f"--target={process}", "--net"]
    _ip("link", "set", "lo", "up", before=own)
    for network in networks:
        outer, inner = f"sweeper{network.number}-{network.members.index(name)}", f"eth{network.number}"
        _ip("link", "add", outer, "type", "veth", "peer", "name", inner, "netns", str(process))
        _ip("link", "set", outer, "master", network.bridge, "up")
        _ip("address", "add", f"{network.address(name)}/24", "dev", inner, before=own)
        _ip("link", "set", inner, "up", before=own)
        if not network.internal:
            _ip("route", "add", "default", "via", network.gateway, before=own)


def _ip(*words: str, before: Sequence[str] = ()) -> None:
    subprocess.run([*before, "ip", *words], check=True)
