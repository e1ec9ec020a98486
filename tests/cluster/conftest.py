"""One cluster of three hosts for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.network import why_no_network
from tests.cluster.ray_hosts import RayHosts, ray_hosts


@pytest.fixture(scope="session")
def cluster() -> Iterator[RayHosts]:
    """Three hosts with a core each; tests put back what they break."""
    if problem := why_no_network():
        pytest.skip(problem)
    with ray_hosts(3) as made:
        yield made
