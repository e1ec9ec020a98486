"""One SLURM for all tests of a session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sweeper.slurm.site import SlurmSite, slurm_site, what_is_missing


@pytest.fixture(scope="session")
def running_site() -> Iterator[SlurmSite]:
    if missing := what_is_missing():
        pytest.skip(missing)
    with slurm_site() as site:
        yield site


@pytest.fixture
def site(running_site: SlurmSite) -> Iterator[SlurmSite]:
    """The session's SLURM, without a job."""
    yield running_site
    running_site.clear()
