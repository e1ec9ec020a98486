"""A convolution split over the channels and filters of 2 ranks, beside torch's own on one; each rank has one thread."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from benchmarks.convolving import ALONE, CHANNELS, FILTERS, PIXELS, WINDOW
from benchmarks.measure import Row, arguments, report, spread, versions
from benchmarks.ranks import told_by_ranks

RANKS = 2
BATCHES = (1, 2)
_PASSES = ("forward", "backward")


def rows(quick: bool) -> Iterator[Row]:
    """Forward and backward by stationary-x and stationary-y, of batches that have too few samples to split well."""
    steps, rounds = (3, 3) if quick else (20, 15)
    for batch in BATCHES:
        words = ["--batch", str(batch), "--steps", str(steps), "--rounds", str(rounds)]
        found = told_by_ranks(RANKS, "benchmarks.convolving", words, crowded=False)
        alone = list(zip(*found.pop(ALONE), strict=True))
        layer = f"{CHANNELS} to {FILTERS} channels, {WINDOW}x{WINDOW}, {PIXELS}x{PIXELS} pixels, batch {batch}"
        for algorithm, seconds in found.items():
            for name, ours, theirs in zip(_PASSES, zip(*seconds, strict=True), alone, strict=True):
                value, baseline = statistics.median(ours), statistics.median(theirs)
                yield Row(
                    f"{algorithm} {name}, {layer}",
                    1e3 * value,
                    "ms",
                    "one rank",
                    1e3 * baseline,
                    value / baseline,
                    rounds,
                    spread(ours),
                    versions("torch", "mpi4py"),
                )


def main() -> None:
    """Measure and report."""
    given = arguments(__doc__ or "")
    report(rows(given.quick), given.json)


if __name__ == "__main__":
    main()
