"""The compose file: what can be told of it without a container engine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import pytest
from ruamel.yaml import YAML
from sqlalchemy.engine import make_url

from sweeper.cli.main import cli

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "docker"
# Of the compose specification, what this file may use.
_TOP = {"name", "services", "networks", "volumes", "secrets"}
_SERVICE = {
    *("image", "build", "init", "restart", "cap_drop", "security_opt", "environment", "secrets", "volumes", "networks"),
    *("healthcheck", "entrypoint", "command", "shm_size", "depends_on", "ports"),
}


@pytest.fixture
def compose() -> dict[str, Any]:
    loaded = YAML(typ="safe", pure=True).load(FOLDER / "compose.yaml")
    assert isinstance(loaded, dict)
    return loaded


def test_it_has_what_a_team_needs(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {"database", "ray-head", "ray-worker", "sweeper"}
    assert {name for name in compose if not name.startswith("x-")} == _TOP
    for name, service in compose["services"].items():
        assert set(service) <= _SERVICE, name


def test_what_services_name_is_declared(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        assert set(service.get("secrets", [])) <= set(compose["secrets"])
        assert set(service["networks"]) <= set(compose["networks"])
        for volume in service["volumes"]:
            assert volume.split(":")[0] in compose["volumes"]
        for other, condition in service.get("depends_on", {}).items():
            assert condition == {"condition": "service_healthy"}
            assert "healthcheck" in compose["services"][other]


def test_its_images_are_pinned_or_built_here(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        if "build" in service:
            assert (FOLDER / service["build"]["context"]).resolve() == ROOT
            assert (ROOT / service["build"]["dockerfile"]).exists()
        else:
            assert re.search(r":\d+\.\d+", service["image"])


def test_secrets_are_files_and_nowhere_else(compose: dict[str, Any]) -> None:
    assert set(compose["secrets"]) == {"sweeper_token", "database_password", "ray_token"}
    for name, secret in compose["secrets"].items():
        assert secret == {"file": f"./secrets/{name}"}
    assert "docker/secrets/" in (ROOT / ".gitignore").read_text().splitlines()
    for service in compose["services"].values():
        for name, value in service.get("environment", {}).items():
            if re.search("PASSWORD|TOKEN", name):
                assert str(value).startswith("/run/secrets/")
                assert str(value).removeprefix("/run/secrets/") in service["secrets"]


def test_the_service_is_reached_from_this_machine_only(compose: dict[str, Any]) -> None:
    assert compose["services"]["sweeper"]["ports"] == ["127.0.0.1:8400:8400"]
    assert compose["networks"]["inside"] == {"internal": True}
    assert not any("ports" in service for name, service in compose["services"].items() if name != "sweeper")


def test_the_store_has_its_password_in_a_file(compose: dict[str, Any]) -> None:
    service = compose["services"]["sweeper"]
    url = make_url(service["command"][service["command"].index("--store") + 1])
    assert (url.drivername, url.host, url.password) == ("postgresql+psycopg", "database", None)
    assert url.query == {"password_file": "/run/secrets/database_password"}
    database = compose["services"]["database"]["environment"]
    assert (url.username, url.database) == (database["POSTGRES_USER"], database["POSTGRES_DB"])


def test_the_service_is_started_by_options_that_exist(compose: dict[str, Any]) -> None:
    serve = cli.get_command(click.Context(cli), "serve")
    assert serve
    known = {name for option in serve.params for name in option.opts}
    words = [*compose["services"]["sweeper"]["command"], *(FOLDER / "serve.sh").read_text().split("exec ")[1].split()]
    assert {word for word in words if word.startswith("--")} <= known


def test_the_commands_that_it_starts_are_in_the_image(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        if "entrypoint" in service:
            assert (FOLDER / service["entrypoint"][0]).exists()
            assert service["entrypoint"][0] in (FOLDER / "Dockerfile").read_text()
