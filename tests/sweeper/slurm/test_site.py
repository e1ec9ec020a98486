"""The SLURM that the tests start is a real one with two nodes."""

from __future__ import annotations

from tests.sweeper.slurm.site import CORES, NODES, SlurmSite


def test_a_job_step_runs_on_both_nodes(site: SlurmSite) -> None:
    said = site.call(
        "srun", "--nodes=2", f"--cpus-per-task={CORES}", "bash", "-c", "echo $SLURMD_NODENAME $SLURM_CPUS_ON_NODE"
    )
    assert sorted(said.splitlines()) == [f"{node} {CORES}" for node in NODES]
