"""Exchanges over 2 to 4 ranks; the parameter server beside the time of its bytes at the bandwidth of this MPI."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from benchmarks.measure import Row, arguments, report, spread, versions
from benchmarks.ranks import told_by_ranks

METHODS = ("parameter-server", "all-reduce", "ring", "hierarchical", "reduce-broadcast")
_MOVED = "its bytes at the MPI's bandwidth"


def rows(quick: bool) -> Iterator[Row]:
    """Each method at 2, 3 and 4 ranks; quickly, some at 2 and 3."""
    steps, rounds = (2, 3) if quick else (5, 9)
    for ranks in (2, 3) if quick else (2, 3, 4):
        found = _measured(ranks, steps, rounds, METHODS[:2] if quick else METHODS)
        for size, timed in found.items():
            moved = 2 * (ranks - 1) * statistics.median(timed.pop("message"))
            for method, seconds in timed.items():
                value, name = statistics.median(seconds), f"{method}, {ranks} ranks, {size}"
                with_baseline = method == "parameter-server"
                yield Row(
                    name,
                    1e3 * value,
                    "ms",
                    _MOVED if with_baseline else "",
                    1e3 * moved if with_baseline else None,
                    value / moved if with_baseline else None,
                    rounds,
                    spread(seconds),
                    versions("torch", "mpi4py"),
                )


def _measured(ranks: int, steps: int, rounds: int, methods: Sequence[str]) -> dict[str, dict[str, list[float]]]:
    arguments = ["--steps", str(steps), "--rounds", str(rounds), "--methods", *methods]
    found: dict[str, dict[str, list[float]]] = told_by_ranks(ranks, "benchmarks.exchanging", arguments, crowded=True)
    return found


def main() -> None:
    """Measure and report."""
    given = arguments(__doc__ or "")
    report(rows(given.quick), given.json)


if __name__ == "__main__":
    main()
