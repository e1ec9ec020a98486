"""A SLURM without jobs for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sweeper.slurm.site import SlurmSite


@pytest.fixture
def site(slurm_site: SlurmSite) -> Iterator[SlurmSite]:
    """The session's SLURM, without a job."""
    yield slurm_site
    slurm_site.clear()
