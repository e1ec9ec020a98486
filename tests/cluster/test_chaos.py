"""A sweep among hosts that are lost, in small; `python -m benchmarks.chaos_hosts` is the whole."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cluster.network import why_no_network


@pytest.mark.long
@pytest.mark.timeout(900)
def test_all_trials_end_once_with_the_curves_of_an_undisturbed_sweep() -> None:
    if problem := why_no_network():
        pytest.skip(problem)
    words = [sys.executable, "-m", "benchmarks.chaos_hosts", "--trials", "12", "--times", "1", "--seed", "2"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all as undisturbed, nothing left" in done.stdout
