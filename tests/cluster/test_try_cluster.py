"""The cluster that people bring up to try things."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cluster.network import why_no_network


@pytest.mark.long
def test_words_run_on_its_first_host_and_nothing_is_left() -> None:
    if problem := why_no_network():
        pytest.skip(problem)
    words = [
        "bash",
        "--rcfile",
        "tests/cluster/try_cluster_shell",
        "-ic",
        "on 2 hostname; ip -br address; sweeper --version",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "tests.cluster", "--hosts", "2", "--cpus", "1", "--", *words],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "2 hosts; you are on the first. The cluster is at 10.77.0.1:6379" in done.stdout
    assert "10.77.0.1/24" in done.stdout
    assert "version" in done.stdout
    left = subprocess.run(["ip", "netns"], capture_output=True, text=True).stdout
    assert not [name for name in left.split() if name in done.stderr + done.stdout]
