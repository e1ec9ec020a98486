"""The manifests for Kubernetes: what can be told of them without a cluster."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from ruamel.yaml import YAML
from sqlalchemy.engine import make_url

from sweeper.cli.main import cli
from sweeper.guides.samplers import first_points
from sweeper.plan import plan
from sweeper.spec import parse_spec
from sweeper.spec.file import parse_yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docker" / "kubernetes"
FILES = ("settings.yaml", "raycluster.yaml", "service.yaml", "rayjob.yaml")
PAGE = (ROOT / "docs" / "containers.md").read_text()
SECRETS = {"sweeper": {"sweeper_token", "database_password"}, "sweeper-ray": {"auth_token"}}


def documents(name: str, version: tuple[int, int] = (1, 2)) -> list[dict[str, Any]]:
    reader = YAML(typ="safe", pure=True)
    reader.version = version
    return list(reader.load_all((FOLDER / name).read_text()))


def kinds(kind: str) -> list[dict[str, Any]]:
    return [one for name in FILES for one in documents(name) if one["kind"] == kind]


def clusters() -> list[dict[str, Any]]:
    """The Ray clusters, that of the job as well."""
    return [*(one["spec"] for one in kinds("RayCluster")), *(one["spec"]["rayClusterSpec"] for one in kinds("RayJob"))]


def groups() -> Iterator[dict[str, Any]]:
    for cluster in clusters():
        yield cluster["headGroupSpec"]
        yield from cluster["workerGroupSpecs"]


def pods() -> list[dict[str, Any]]:
    return [
        *(group["template"]["spec"] for group in groups()),
        *(one["spec"]["template"]["spec"] for one in kinds("Deployment")),
    ]


def container(pod: dict[str, Any]) -> dict[str, Any]:
    (only,) = pod["containers"]
    assert isinstance(only, dict)
    return only


def settings() -> dict[str, str]:
    return {name: value for one in kinds("ConfigMap") for name, value in one["data"].items()}


def accepted(words: list[str]) -> None:
    """Raises UsageError for what the command line does not know."""
    command = cli.get_command(click.Context(cli), words[0])
    assert command
    command.make_context(words[0], words[1:])


@pytest.mark.parametrize("name", FILES)
def test_kubernetes_reads_what_is_meant(name: str) -> None:
    """It reads YAML 1.1, where `0440`, `on` and `1:30` are something else."""
    assert documents(name) == documents(name, (1, 1))


def test_there_is_what_a_team_needs() -> None:
    found = sorted((one["kind"], one["metadata"]["name"]) for name in FILES for one in documents(name))
    assert found == [
        ("ConfigMap", "sweeper-first"),
        ("ConfigMap", "sweeper-settings"),
        ("Deployment", "sweeper"),
        ("PersistentVolumeClaim", "sweeper-data"),
        ("PersistentVolumeClaim", "sweeper-state"),
        ("RayCluster", "sweeper"),
        ("RayJob", "first"),
        ("Service", "sweeper"),
    ]
    assert {path.name for path in FOLDER.iterdir()} == set(FILES)


def test_the_image_and_its_user_are_those_of_docker() -> None:
    compose = YAML(typ="safe", pure=True).load(ROOT / "docker" / "compose.yaml")
    assert {container(pod)["image"] for pod in pods()} == {compose["services"]["sweeper"]["image"]}
    user = re.search(r"^USER (\d+):(\d+)$", (ROOT / "docker" / "Dockerfile").read_text(), flags=re.MULTILINE)
    assert user
    for pod in pods():
        context = pod["securityContext"]
        assert (context["runAsUser"], context["runAsGroup"], context["fsGroup"]) == (
            *map(int, user.groups()),
            int(user[2]),
        )
        assert context["runAsNonRoot"]
        assert container(pod)["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        }
        assert pod["automountServiceAccountToken"] is False


def test_ray_has_the_images_version_and_a_secret() -> None:
    (pinned,) = re.findall(r"^ray==(.+)$", (ROOT / "constraints.txt").read_text(), flags=re.MULTILINE)
    for cluster in clusters():
        assert cluster["rayVersion"] == pinned
        assert cluster["authOptions"] == {"mode": "token", "secretName": "sweeper-ray"}
    assert "kuberay" in (ROOT / "docker" / "install.sh").read_text()


def test_rays_nodes_are_started_by_options_that_exist() -> None:
    ray = Path(sys.executable).with_name("ray")
    told = subprocess.run([ray, "start", "--help"], check=True, capture_output=True, text=True).stdout
    known = set(re.findall(r"--[\w-]+", told))
    for group in groups():
        assert {f"--{name}" for name in group["rayStartParams"]} <= known
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())


def test_what_is_mounted_is_declared_and_made() -> None:
    claims = {one["metadata"]["name"] for one in kinds("PersistentVolumeClaim")}
    maps = {one["metadata"]["name"] for one in kinds("ConfigMap")}
    for pod in pods():
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert {mount["name"] for mount in container(pod)["volumeMounts"]} == set(volumes)
        for volume in volumes.values():
            if "persistentVolumeClaim" in volume:
                assert volume["persistentVolumeClaim"]["claimName"] in claims
            if "configMap" in volume:
                assert volume["configMap"]["name"] in maps
            if "secret" in volume:
                assert volume["secret"]["secretName"] in SECRETS
                assert volume["secret"]["defaultMode"] == 0o440
        for source in container(pod).get("envFrom", ()):
            assert source["configMapRef"]["name"] in maps


def test_the_secrets_are_made_as_the_page_says() -> None:
    for name, keys in SECRETS.items():
        (line,) = [line for line in PAGE.splitlines() if f"create secret generic {name} " in line]
        assert {Path(key.partition("=")[0]).name for key in re.findall(r"--from-file=(\S+)", line)} == keys
    text = "".join((FOLDER / name).read_text() for name in FILES)
    assert "kind: Secret" not in text
    assert f"apply -f {' -f '.join(f'docker/kubernetes/{name}' for name in FILES[:3])}" in PAGE


def test_files_of_secrets_are_read_where_they_are_mounted() -> None:
    (pod,) = [one["spec"]["template"]["spec"] for one in kinds("Deployment")]
    places = {
        volume["secret"]["secretName"]: mount["mountPath"]
        for volume in pod["volumes"]
        if "secret" in volume
        for mount in container(pod)["volumeMounts"]
        if mount["name"] == volume["name"]
    }
    files = {f"{places[name]}/{key}" for name, keys in SECRETS.items() for key in keys}
    store = make_url(settings()["SWEEPER_STORE"])
    named = {store.query["password_file"], *container(pod)["args"], *(one["value"] for one in container(pod)["env"])}
    assert files <= named
    assert (store.drivername, store.password) == ("postgresql+psycopg", None)
    for one in kinds("RayJob"):
        head = container(one["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"])
        assert {"name": "secrets", "mountPath": places["sweeper"], "readOnly": True} in head["volumeMounts"]


def test_the_service_joins_the_cluster_beside_it() -> None:
    (cluster,), (deployment,) = kinds("RayCluster"), kinds("Deployment")
    pod = deployment["spec"]["template"]
    environment = {one["name"]: one["value"] for one in container(pod["spec"])["env"]}
    assert environment["RAY_HEAD"] == f"{cluster['metadata']['name']}-head-svc:6379"
    (script,) = container(pod["spec"])["command"]
    assert (ROOT / "docker" / script).exists()
    accepted(["serve", "--ray-address", environment["RAY_HEAD"], *container(pod["spec"])["args"]])
    (service,) = kinds("Service")
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    assert f"port-forward service/{service['metadata']['name']} {service['spec']['ports'][0]['port']}" in PAGE


def test_the_job_runs_its_spec(tmp_path: Path) -> None:
    (job,) = kinds("RayJob")
    word, *words = shlex.split(job["spec"]["entrypoint"])
    assert word == "sweeper"
    head = container(job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"])
    (folder,) = [mount["mountPath"] for mount in head["volumeMounts"] if mount["name"] == "sweep"]
    spec = tmp_path / "sweep.yaml"
    spec.write_text(settings()["sweep.yaml"])
    accepted([str(spec) if one == f"{folder}/sweep.yaml" else one for one in words])
    assert f"{folder}/sweep.yaml" in words
    trials = plan(parse_spec(parse_yaml(spec.read_text(), "manifest")), first_points)
    (workers,) = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    cores = int(container(workers["template"]["spec"])["resources"]["limits"]["cpu"])
    assert max(trial.workers for trial in trials) <= cores
