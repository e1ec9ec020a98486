"""The cluster that people bring up to try things."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.network import why_no_network
from tests.test_platforms import ROOT, blocks

_ENTRANCE = "sudo make try-cluster"


@pytest.mark.long
def test_the_pages_commands_run_there_and_nothing_is_left(tmp_path: Path) -> None:
    if problem := why_no_network():
        pytest.skip(problem)
    (tmp_path / "first.yaml").write_text(*blocks("laptop", "yaml"))
    (block,) = [one for one in blocks("ray-cluster", "sh") if one.startswith(_ENTRANCE)]
    _, *lines, last = block.splitlines()
    assert last.startswith("exit")
    before = _namespaces()
    lines = ["hostname", "on 2 ip -br address", f"cd {tmp_path}", *lines]
    words = ["bash", "--rcfile", str(ROOT / "tests/cluster/try_cluster_shell"), "-ic", "\n".join(["set -e", *lines])]
    begin = [sys.executable, "-m", "tests.cluster", "--", *words]
    done = subprocess.run(begin, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    for said in ("sweeper-host-1\n", "10.77.0.2/24", "The cluster is at 10.77.0.1:6379", "[4/4]"):
        assert said in done.stdout + done.stderr
    assert _namespaces() == before


def _namespaces() -> set[str]:
    return set(subprocess.run(["ip", "netns"], capture_output=True, text=True).stdout.splitlines())
