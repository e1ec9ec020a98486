"""The engine on the CPU: images a second of the parameter server, beside DistributedDataParallel over gloo."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Row, arguments, compare, report, versions
from engine.config import TrainingConfig
from engine.protocol import Ended
from sweeper.gangs.base import Job
from sweeper.gangs.gang import Gang
from sweeper.gangs.launcher import find_launcher

BATCH_SIZE = 128


def ours(ranks: int, images: int, average: str) -> float:
    """Images a second of alexnet-cifar on synthetic pictures, by the engine's own clock."""
    config = TrainingConfig.model_validate(
        {
            "data": "synthetic",
            "images": images,
            "batch_size": BATCH_SIZE,
            "learning_rate": 0.01,
            "momentum": 0.9,
            "exchange": {"average": average},
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        job = Job("benchmark", 1, ranks, 1, 0, config.model_dump(mode="json"), str(Path(folder) / "gang.log"))
        gang = Gang(job, [])
        ended = [happened.event for happened in gang.run(job)][-1]
        gang.close()
    if not isinstance(ended, Ended):
        raise SystemExit(f"the gang failed: {ended}")
    return ended.images / ended.seconds


def ddp(ranks: int, images: int) -> float:
    """The same by DistributedDataParallel, without the gangs' settings of glibc."""
    launcher = find_launcher()
    program = [sys.executable, "-m", "mpi4py", "-m", "benchmarks.ddp"]
    command = launcher.command(ranks, [*program, "--images", str(images), "--batch-size", str(BATCH_SIZE)])
    environment = {n: v for n, v in launcher.environment(os.environ, 1, []).items() if not n.startswith("MALLOC_")}
    return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def row(ranks: int, images: int, average: str, n: int) -> Row:
    """One comparison."""
    return compare(
        f"parameter server, {average}, {ranks} ranks x 1 thread, batch {BATCH_SIZE}",
        "images/s",
        lambda: ours(ranks, images, average),
        "DDP over gloo",
        lambda: ddp(ranks, images),
        n,
        versions("torch", "mpi4py"),
    )


def main() -> None:
    """Measure and report."""
    given = arguments(__doc__ or "")
    images, n, averages = (2560, 1, ["gradients"]) if given.quick else (12_800, 5, ["gradients", "weights"])
    report([row(2, images, average, n) for average in averages], given.json)


if __name__ == "__main__":
    main()
