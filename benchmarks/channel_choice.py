"""The chooser's pick for each layer of ResNet-50, beside the fastest of four ways as measured on 2 ranks."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Mapping
from typing import cast

from benchmarks.measure import Row, add_arguments, report, spread, versions
from benchmarks.ranks import told_by_ranks
from engine.channel_parallel.choice import WAYS, Way
from sweeper.answers.network_plan import GivenMachine, plan_answer

RANKS, MODEL, CLASSES = 2, "resnet-50", 1000
NEAR = 1.1  # times the fastest
TWIN: Way = "stationary-w"  # which on 2 ranks cuts weights as SAME does
SAME: Way = "stationary-x"
Times = Mapping[Way, list[float]]


def rows(quick: bool, batch: int, pixels: int) -> Iterator[Row]:
    """The share of layers with a pick near the fastest, beside one way for all; then the layers, the worst first."""
    machine, picks = _picks(batch, pixels, GivenMachine())
    _, at_one_rate = _picks(batch, pixels, machine)
    rounds, every = (5, 8) if quick else (31, 1)
    words = {"model": MODEL, "pixels": pixels, "batch": batch, "every": every, "rounds": rounds}
    arguments = [word for name, value in words.items() for word in (f"--{name}", str(value))]
    found: dict[str, Times] = told_by_ranks(RANKS, "benchmarks.choosing", arguments, crowded=False)
    case = f"batch {batch}, {pixels}x{pixels} pixels"
    for name, other in {
        "one rate for all": at_one_rate,
        **{f"always {way}": _always(found, way) for way in WAYS},
    }.items():
        yield _shares(f"layers with a pick within 10 % of the fastest, {case}", found, picks, name, other)
    # On 2 ranks stationary-w is stationary-x: what tells the two apart is chance.
    one = _as_one(found)
    yield _shares(f"the same, {SAME} and {TWIN} as one way, {case}", one, picks, "one rate for all", at_one_rate)
    again = {name: {TWIN: times[TWIN], SAME: times[SAME]} for name, times in found.items()}
    twins = _always(found, TWIN), _always(found, SAME)
    yield _shares(f"layers with {TWIN} within 10 % of {SAME}, {case}", again, twins[0], "the reverse", twins[1])
    for name in sorted(found, key=lambda one: -_ratio(found[one], picks[one])):
        yield _layer(name, found[name], picks[name])


def _picks(batch: int, pixels: int, given: GivenMachine) -> tuple[GivenMachine, dict[str, Way]]:
    """The fastest way of each layer as `sweeper costs --plan` has it, which measures what is not given; and on what."""
    answer = plan_answer(MODEL, (3, pixels, pixels), CLASSES, batch, RANKS, given)
    numbers = {name: answer["machine"][name] for name in ("latency_s", "bytes_per_s", "multiply_adds_per_s")}
    return GivenMachine(**numbers), {layer["name"]: cast(Way, layer["fastest"]) for layer in answer["layers"]}


def _layer(name: str, times: Times, pick: Way) -> Row:
    best = min(WAYS, key=lambda way: statistics.median(times[way]))
    value, baseline = (1e3 * statistics.median(times[way]) for way in (pick, best))
    n, used = len(times[pick]), versions("torch", "mpi4py")
    return Row(f"{name}, {pick}", value, "ms", best, baseline, value / baseline, n, spread(times[pick]), used)


def _ratio(times: Times, pick: Way) -> float:
    """The pick's time to the fastest way's."""
    return statistics.median(times[pick]) / min(map(statistics.median, times.values()))


def _shares(
    name: str, found: Mapping[str, Times], picks: Mapping[str, Way], other_name: str, others: Mapping[str, Way]
) -> Row:
    """The share of layers whose pick is near the fastest way, beside that of other picks."""
    share, other = _share_near(found, picks), _share_near(found, others)
    used, ratio = versions("torch", "mpi4py"), share / other if other else None
    return Row(name, 100 * share, "% of layers", other_name, 100 * other, ratio, len(found), 0.0, used)


def _always(found: Mapping[str, Times], way: Way) -> dict[str, Way]:
    return dict.fromkeys(found, way)


def _as_one(found: Mapping[str, Times]) -> dict[str, Times]:
    """Each layer with the times of the two ways that are the same, under both names."""
    same = {name: [*times[TWIN], *times[SAME]] for name, times in found.items()}
    return {name: {**times, TWIN: same[name], SAME: same[name]} for name, times in found.items()}


def _share_near(found: Mapping[str, Times], picks: Mapping[str, Way]) -> float:
    return statistics.mean(_ratio(times, picks[name]) <= NEAR for name, times in found.items())


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--batch", type=int, default=2, help="samples of both ranks together")
    parser.add_argument("--pixels", type=int, default=64, help="height and width of the pictures")
    given = parser.parse_args()
    report(rows(given.quick, given.batch, given.pixels), given.json)


if __name__ == "__main__":
    main()
