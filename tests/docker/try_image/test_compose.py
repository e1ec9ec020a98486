"""The services of the compose file."""

from __future__ import annotations

from pathlib import Path

from docker.try_image.compose import read_compose, services
from docker.try_image.image import Image

COMPOSE = read_compose(Path(__file__).parents[3] / "docker" / "compose.yaml")
BUILT = Image(
    Path("/built"), {"PATH": "/opt/sweeper/bin"}, entrypoint=["sweeper"], command=["serve"], health=["CMD", "x"]
)
POSTGRES = Image(Path("/database"), entrypoint=["start"])


def test_services_start_after_those_that_they_depend_on() -> None:
    names = [service.name for service in services(COMPOSE, BUILT, {"postgres": POSTGRES})]
    assert set(names) == {"database", "ray-head", "ray-worker", "sweeper"}
    assert names.index("ray-head") < names.index("ray-worker")
    assert max(names.index("database"), names.index("ray-head")) < names.index("sweeper")


def test_a_service_is_what_the_file_says_over_what_the_image_says() -> None:
    found = {service.name: service for service in services(COMPOSE, BUILT, {"postgres": POSTGRES})}
    service, database = found["sweeper"], found["database"]
    assert service.command[:3] == ("tini", "--", "serve.sh")
    assert "serve" not in service.command
    assert service.environment["PATH"] == "/opt/sweeper/bin"
    assert service.environment["RAY_HEAD"] == "ray-head:6379"
    assert service.health == ("CMD", "x")
    assert (service.bare, database.bare) == (True, False)
    assert service.shared_memory_bytes == 1024**3
    assert service.networks == ("inside", "outside")
    assert database.command == ("start",)
    assert database.health[0] == "CMD-SHELL"
