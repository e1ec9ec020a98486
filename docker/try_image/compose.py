"""The services of a compose file: what each runs, as whom, with what, and in which order they start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from docker.try_image.image import Image

SECRETS = "/run/secrets"
_SIZES = {"kb": 1024, "mb": 1024**2, "gb": 1024**3}


@dataclass(frozen=True)
class Service:
    """A service, with what its image says where the compose file is silent. `health` is CMD or CMD-SHELL and words."""

    name: str
    image: Image
    command: tuple[str, ...]
    environment: Mapping[str, str]
    health: tuple[str, ...]
    secrets: tuple[str, ...]
    volumes: Mapping[str, str]  # a volume's name: where it is seen
    networks: tuple[str, ...]
    after: tuple[str, ...]
    bare: bool  # no capability, and none to be gained
    shared_memory_bytes: int


def read_compose(path: Path) -> dict[str, Any]:
    """A compose file as it is written, anchors resolved."""
    loaded = YAML(typ="safe", pure=True).load(path)
    assert isinstance(loaded, dict)
    return loaded


def services(compose: Mapping[str, Any], built: Image, images: Mapping[str, Image]) -> list[Service]:
    """All services in the order of their start. `built` is the Dockerfile's image; `images` has the others by name."""
    found = {
        name: _service(name, written, built if "build" in written else images[written["image"].partition(":")[0]])
        for name, written in compose["services"].items()
    }
    order = TopologicalSorter({name: service.after for name, service in found.items()}).static_order()
    return [found[name] for name in order]


def _service(name: str, written: Mapping[str, Any], image: Image) -> Service:
    entrypoint = written.get("entrypoint", image.entrypoint)
    # An entry point of the service's own drops the image's command, as the specification has it.
    command = written.get("command", [] if "entrypoint" in written else image.command)
    return Service(
        name,
        image,
        command=(*(["tini", "--"] if written.get("init") else []), *entrypoint, *command),
        environment={**image.environment, **{key: str(value) for key, value in written.get("environment", {}).items()}},
        health=tuple(written.get("healthcheck", {}).get("test", image.health)),
        secrets=tuple(written.get("secrets", ())),
        volumes=dict(volume.split(":")[:2] for volume in written.get("volumes", ())),
        networks=tuple(written.get("networks", ())),
        after=tuple(written.get("depends_on", ())),
        bare=written.get("cap_drop") == ["ALL"] and "no-new-privileges:true" in written.get("security_opt", ()),
        shared_memory_bytes=_bytes(written.get("shm_size", "64mb")),
    )


def _bytes(written: str) -> int:
    return int(written[:-2]) * _SIZES[written[-2:]]
