"""Sweeps as batch jobs on a real SLURM: submitted, cut off, and what came of them."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sweeper.errors import StoreError
from sweeper.plan.trial import TrialState
from sweeper.store import Store, SweepRecord, read_store
from tests.processes import eventually
from tests.sweeper.slurm.site import CORES, NODES, SlurmSite

SPEC = """
name: tiny's sweep
trial: {model: neuron, data: step-function, images: 400}
space: {workers: [1, 2], batch_size: [10], learning_rate: [0.1]}
"""
# A program that ends in order, as if it had completed, when it is told to.
PROGRAM = """
import signal, sys, time, sweeper
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
for step in range(1, 31):
    sweeper.report(loss=1 / step, step=step)
    time.sleep(0.1)
"""
PROGRAM_SPEC = """
name: a program's sweep
trial: {command: [python, train.py, --seed, "{seed}"]}
space: {workers: [1, 2]}
repeats: 2
"""
LIMIT_S = 240.0  # Python and Ray start on busy cores


def written(folder: Path, *options: str, spec: str = SPEC) -> Path:
    """The file of a spec, made as people make it."""
    (folder / "sweep.yaml").write_text(spec)
    (folder / "train.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "sweeper.cli", "slurm", "sweep.yaml", "-o", "sweep.sbatch", *options]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "sweep.sbatch"


@dataclass(frozen=True)
class SubmittedSweep:
    """A sweep that runs as a batch job from a folder."""

    site: SlurmSite
    folder: Path
    job: str

    @classmethod
    def of(cls, site: SlurmSite, folder: Path, *options: str, spec: str = SPEC) -> SubmittedSweep:
        """Write the file, and submit it."""
        path = written(folder, "--nodes", str(len(NODES)), "--time", "20", *options, spec=spec)
        job = site.call("sbatch", "--parsable", str(path), folder=folder, extra={"PYTHONPATH": os.getcwd()})
        return cls(site, folder, job.strip())

    @property
    def output(self) -> str:
        """What the job has said."""
        path = self.folder / f"slurm-{self.job}.out"
        return path.read_text() if path.exists() else f"job {self.job} has said nothing"

    def open_store(self) -> Store:
        """The sweep's store."""
        return read_store(f"sqlite:///{self.folder}/sweeper.db")

    def sweep(self) -> SweepRecord | None:
        """The sweep; None until its store is made."""
        try:
            with closing(self.open_store()) as store:
                return next(iter(store.sweeps.all()), None)
        except StoreError:
            return None

    def number(self, state: TrialState) -> int:
        """How many trials are in a state."""
        sweep = self.sweep()
        return sweep.states.get(state, 0) if sweep else 0

    def cut_off(self, how: str) -> None:
        """Have the job end as something ends jobs, and start again."""
        begun = self.begun()
        if how == "requeue":
            self.site.call("scontrol", "requeue", self.job)
        elif how == "time limit":
            self.site.call("scancel", "--batch", "--signal=USR1", self.job)
        else:
            asked = [f"--nodes={len(NODES)}", "--ntasks-per-node=1", f"--cpus-per-task={CORES}", "--partition=urgent"]
            self.site.call("sbatch", *asked, "--output=/dev/null", "--wrap", "sleep 1", folder=self.folder)
        assert eventually(lambda: self.site.state(self.job) == "PENDING", 90), self.output
        # It would wait for two minutes. Within a second of its end a node takes it for the job that it was to end.
        self.site.call("scontrol", "update", f"jobid={self.job}", "StartTime=now+2")
        assert eventually(lambda: self.begun() > begun, 90), self.output

    def begun(self) -> int:
        """How often the job has begun before it runs now."""
        return int(self.site.field(self.job, "Restarts")) if self.site.state(self.job) == "RUNNING" else -1

    def has_ended(self) -> bool:
        """Whether every trial has ended."""
        sweep = self.sweep()
        return sweep is not None and sweep.ended == sweep.total

    def is_over(self) -> bool:
        """Whether the job has completed."""
        return eventually(lambda: self.site.state(self.job) == "COMPLETED", LIMIT_S)

    def curves(self) -> list[list[float]]:
        """The losses of all trials, in their order, each of which has come to one end and to no failure."""
        with closing(self.open_store()) as store:
            (sweep,) = store.sweeps.all()
            trials = store.trials.of(sweep.id)
            for trial in trials:
                *cut_off, last = [attempt.state for attempt in store.attempts.of(trial.id)]
                assert last == "completed", (trial, self.output)
                assert set(cut_off) <= {"interrupted"}, (trial, self.output)
            return [[point.loss for point in store.attempts.points(trial.id)] for trial in trials]
