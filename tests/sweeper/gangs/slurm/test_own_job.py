"""What SLURM says of our own job: its nodes, and whether it is ending. On a real site."""

from __future__ import annotations

import pytest

from sweeper.errors import LaunchError
from sweeper.gangs.slurm.own_job import SlurmJob
from tests.sweeper.slurm.site import CORES, NODES, SlurmSite


@pytest.mark.long
def test_slurm_tells_that_a_job_is_ending_before_it_ends(
    slurm_site: SlurmSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    with slurm_site.allocation() as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        ours = SlurmJob.ours()
        assert ours is not None
        assert [(node.name, node.cpus, node.gpus) for node in ours.nodes()] == [(NODES[0], CORES, 0)]
        assert not ours.is_ending()
    assert ours.is_ending()
    assert not SlurmJob("999999").is_ending(), "of an unknown job nothing is known"
    with pytest.raises(LaunchError, match="SLURM job 999999: "):
        SlurmJob("999999").nodes()
