"""A cluster that grows for a sweep and shrinks after it: Ray's autoscaler, whose hosts are further raylets here."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ray.autoscaler._private.fake_multi_node.node_provider import FAKE_HEAD_NODE_ID

from tests.processes import eventually, processes_with

TAG = "SWEEPER_TEST_AUTOSCALER"
SPEC = """
name: growing
trial: {model: neuron, data: step-function, images: 640, points: 4}
space: {learning_rate: [0.1, 0.5], workers: [1, 2]}
"""


@contextmanager
def autoscaled(folder: Path, cores: int, hosts: int) -> Iterator[dict[str, str]]:
    """A head without cores, and at most so many hosts of so many cores; what its users need in their environment."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    config = folder / "cluster.json"
    config.write_text(json.dumps(_config(address, cores, hosts)))
    own = {TAG: str(folder), "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "c" * 64, "RAY_USAGE_STATS_ENABLED": "0"}
    faked = {"RAY_FAKE_CLUSTER": "1", "RAY_OVERRIDE_NODE_ID_FOR_TESTING": FAKE_HEAD_NODE_ID}
    faked |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # keeps to the loopback interface
    ray = [str(Path(sys.executable).parent / "ray"), "start", "--head", "--num-cpus=0", "--num-gpus=0", "--block"]
    place = [f"--port={address.partition(':')[2]}", "--node-ip-address=127.0.0.1", "--include-dashboard=false"]
    quiet = ["--object-store-memory=80000000", "--disable-usage-stats"]
    with (folder / "ray.log").open("w") as log, tempfile.TemporaryDirectory(prefix="sw-", dir="/tmp") as short:
        head = subprocess.Popen(
            [*ray, *place, f"--autoscaling-config={config}", *quiet, f"--temp-dir={short}"],
            env=os.environ | own | faked,
            stdout=log,
            stderr=log,
        )
        try:
            assert eventually(lambda: "Ray runtime started." in (folder / "ray.log").read_text(), 60)
            yield own | {"RAY_HEAD": address}
        finally:
            head.terminate()
            head.wait(30)
            for process in processes_with(TAG, str(folder)):
                process.kill()


def _config(address: str, cores: int, hosts: int) -> dict[str, object]:
    kinds = {
        "ray.head.default": {"resources": {"CPU": 0}, "node_config": {}, "max_workers": 0},
        "worker": {"resources": {"CPU": cores}, "node_config": {}, "min_workers": 0, "max_workers": hosts},
    }
    nothing: dict[str, object] = {key: {} for key in ("auth", "file_mounts", "docker")}
    nothing |= {f"{when}_commands": [] for when in ("initialization", "setup", "head_setup", "worker_setup")}
    nothing |= {f"{which}_start_ray_commands": [] for which in ("head", "worker")}
    nothing |= {"cluster_synced_files": []}
    return nothing | {
        "cluster_name": "fake",
        "max_workers": hosts,
        "idle_timeout_minutes": 0.1,
        "upscaling_speed": 10.0,
        "provider": {
            "type": "fake_multinode",
            "gcs_address": address,
            "head_node_id": FAKE_HEAD_NODE_ID,
            "use_node_id_as_ip": True,  # all have the same
            "disable_node_updaters": True,  # nothing is installed on a new host
        },
        "available_node_types": kinds,
        "head_node_type": "ray.head.default",
    }


def _raylets(folder: Path) -> int:
    return sum(process.name() == "raylet" for process in processes_with(TAG, str(folder)))


@pytest.mark.long
def test_hosts_come_for_the_trials_and_go_after_them(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC)
    with autoscaled(tmp_path, cores=2, hosts=2) as given:
        run = [sys.executable, "-m", "sweeper.cli", "run", "spec.yaml", "--ray-address", given["RAY_HEAD"]]

        def called(*options: str) -> subprocess.CompletedProcess[str]:
            environment = os.environ | given
            return subprocess.run(
                [*run, *options], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240
            )

        assert "1, 2 cannot be seated" in called().stderr, "without a word of hosts to come"
        done = called("--autoscale", "2x2")
        assert done.returncode == 0, done.stderr
        assert "[4/4]" in done.stdout
        assert eventually(lambda: _raylets(tmp_path) == 1, 90)
