"""A job that is requeued, preempted or at its time limit goes on with the very trials that it was cut off from."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import sweeper
from sweeper.plan.trial import TrialState
from sweeper.spec.file import load_spec
from tests.processes import eventually
from tests.sweeper.slurm.jobs import LIMIT_S, PROGRAM_SPEC, SPEC, SubmittedSweep
from tests.sweeper.slurm.site import CORES, NODES, SlurmSite

SEVERAL = {"trial.images": "20000", "repeats": "3"}  # each trains for a second or two
SETTINGS = [word for key, value in SEVERAL.items() for word in ("--set", f"{key}={value}")]
CUTS = {"slurm": 3, "ray": 2}


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[list[float]]:
    """The losses of all trials when nothing cuts them off."""
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "sweep.yaml").write_text(SPEC)
    spec = load_spec(folder / "sweep.yaml", [f"{key}={value}" for key, value in SEVERAL.items()])
    with sweeper.run(spec, store=folder / "sweeper.db", executor="local", oversubscribe=True, progress=False) as done:
        curves = done.curves()
        return [list(of_trial["loss"]) for _, of_trial in curves.groupby("trial", sort=False)]


@pytest.mark.timeout(900)
def test_trials_that_run_at_a_requeue_are_interrupted_and_run_again(site: SlurmSite, tmp_path: Path) -> None:
    submitted = SubmittedSweep.of(site, tmp_path, spec=PROGRAM_SPEC)
    assert site.field(submitted.job, "NumCPUs") == str(CORES * len(NODES))
    assert eventually(has_points(submitted), LIMIT_S), submitted.output
    submitted.cut_off("requeue")
    assert submitted.is_over(), submitted.output
    assert submitted.curves() == [[1 / step for step in range(1, 31)]] * 4
    assert "interrupted: " in submitted.output


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("executor", ["slurm", "ray"])
@pytest.mark.parametrize("how", ["requeue", "time limit", "preemption", "preemption with a time of grace"])
def test_a_job_that_is_cut_off_again_and_again_completes_as_if_it_had_not_been(
    site: SlurmSite, tmp_path: Path, undisturbed: list[list[float]], how: str, executor: str
) -> None:
    partition = "patient" if "grace" in how else "main"
    submitted = SubmittedSweep.of(site, tmp_path, "--executor", executor, "--partition", partition, *SETTINGS)
    moments = random.Random(f"{how} {executor}")
    assert eventually(has_points(submitted), LIMIT_S), submitted.output
    for _ in range(CUTS[executor]):
        if submitted.has_ended():
            break
        submitted.cut_off(how)
        assert eventually(lambda: bool(submitted.number(TrialState.RUNNING)) or submitted.has_ended(), LIMIT_S)
        time.sleep(moments.uniform(0.0, 4.0))
    assert submitted.is_over(), submitted.output
    assert submitted.curves() == undisturbed


def has_points(submitted: SubmittedSweep) -> Callable[[], bool]:
    """Whether a trial has begun to train."""

    def look() -> bool:
        if not submitted.number(TrialState.RUNNING):
            return False
        store = submitted.open_store()
        try:
            (sweep,) = store.sweeps.all()
            running = store.trials.of(sweep.id, [TrialState.RUNNING])
            return any(store.attempts.points(trial.id) for trial in running)
        finally:
            store.close()

    return look
