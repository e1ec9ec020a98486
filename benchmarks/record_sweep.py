"""Record a sweep in the layout of `--recorded`: a curve for each global batch and rate, a step's time for each batch.

    python -m benchmarks.record_sweep --model mlp --data fashion-mnist --rates 0.01 0.03 0.1 --out DIR

One process trains all curves on one device. A trial of W workers and batch B has the curve of the global batch W x B,
and the steps that one worker takes with batch B, plus the time that W workers exchange for. That is not measured here:
`--exchange` has its seconds for each worker count.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path

from mpi4py import MPI

from engine.config import TrainingConfig
from engine.protocol import Ended, Point
from engine.trainer import train

_COLUMNS = ("global_batch", "learning_rate", "point", "images", "loss")


def record(
    settings: dict[str, object], batches: Sequence[int], rates: Sequence[float], exchange: dict[int, float], out: Path
) -> None:
    """Train every curve, and write `curves.csv`, `runs.csv` and `step_seconds.csv` to a folder."""
    out.mkdir(parents=True, exist_ok=True)
    paces: dict[int, float] = {}
    counts = sorted(exchange)
    with (out / "curves.csv").open("w", newline="") as file, (out / "runs.csv").open("w", newline="") as other:
        curves, runs = csv.writer(file), csv.writer(other)
        curves.writerow(_COLUMNS)
        runs.writerow(("global_batch", "learning_rate", "steps", "seconds_one_worker"))
        for whole in sorted({workers * batch for workers in counts for batch in batches}):
            for rate in rates:
                points, ended = _train({**settings, "batch_size": whole, "learning_rate": rate})
                for number, point in enumerate(points):
                    finite = point.loss - point.loss == 0
                    curves.writerow((whole, rate, number, point.images, f"{point.loss:.4f}" if finite else ""))
                runs.writerow((whole, rate, points[-1].step, f"{ended.seconds:.4f}"))
                pace = ended.seconds / points[-1].step
                paces[whole] = min(pace, paces.get(whole, pace))
            file.flush()
    with (out / "step_seconds.csv").open("w", newline="") as file:
        steps = csv.writer(file)
        steps.writerow(("workers", "batch_size", "seconds_per_step", "origin"))
        for workers in counts:
            for batch in batches:
                origin = "measured" if workers == 1 else "measured for one worker, exchange added"
                steps.writerow((workers, batch, f"{paces[batch] + exchange[workers]:.9f}", origin))


def _train(settings: dict[str, object]) -> tuple[list[Point], Ended]:
    events: list[object] = []
    train("recorded", TrainingConfig.model_validate(settings), MPI.COMM_SELF, events.append)
    ended = events[-1]
    assert isinstance(ended, Ended)
    return [event for event in events if isinstance(event, Point)], ended


def main() -> None:
    """Take the sweep from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--images", type=int, default=102_400)
    parser.add_argument("--momentum", type=float, default=0.0)
    parser.add_argument("--points", type=int, default=60)
    parser.add_argument("--batches", type=int, nargs="+", default=[16, 32, 64, 128, 256, 512])
    parser.add_argument("--rates", type=float, nargs="+", required=True)
    parser.add_argument(
        "--exchange", nargs="+", metavar="WORKERS=SECONDS", default=["1=0", "2=2.5e-5", "4=3.5e-5", "8=7e-5"]
    )
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    settings = {name: getattr(given, name) for name in ("model", "data", "images", "momentum", "points")}
    exchange = {
        int(workers): float(seconds) for workers, _, seconds in (each.partition("=") for each in given.exchange)
    }
    record(settings, given.batches, given.rates, exchange, given.out)


if __name__ == "__main__":
    main()
