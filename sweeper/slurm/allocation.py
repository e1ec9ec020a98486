"""The smallest allocation in which every trial of a spec can run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sweeper.errors import SeatingError, UsageError
from sweeper.gangs.seats import Seats, seats_of
from sweeper.guides.samplers import first_points
from sweeper.plan import outermost, plan
from sweeper.plan.trial import TrialSpec
from sweeper.spec import SweepSpec

# As sbatch takes them: minutes, minutes:seconds, hours:minutes:seconds, and days before hours.
_TIME = re.compile(
    r"(?:(?P<days>\d+)-(?P<hours>\d+)(?::(?P<minutes>\d+)(?::(?P<seconds>\d+))?)?|(?P<short>\d+(:\d+){0,2}))"
)
_LEAST_TIME_S = 300


@dataclass(frozen=True)
class Wishes:
    """What the user asks of SLURM; `cpus_per_node` and `gpus_per_node` are as few as the spec needs if None."""

    nodes: int = 1
    cpus_per_node: int | None = None
    gpus_per_node: int | None = None
    time: str | None = None
    partition: str | None = None
    account: str | None = None


@dataclass(frozen=True)
class Allocation:
    """Nodes that are alike, with the cores and GPUs of each; `time_s` is the limit in seconds, None for the site's."""

    nodes: int
    cpus_per_node: int
    gpus_per_node: int
    time_s: int | None
    partition: str | None
    account: str | None


def smallest_allocation(spec: SweepSpec, wishes: Wishes) -> Allocation:
    """What to ask SLURM for: on each node, room for the largest gang unless the wishes say otherwise.

    Raises:
        SeatingError: the nodes that are asked for cannot seat a worker count.
        UsageError: a wish that sbatch would not understand.
        SpecError: the spec cannot be planned.
    """
    trials = _kinds(spec)
    needs = {_need(trial): trial.workers for trial in trials}
    largest = Seats(max(need.cpus for need in needs), max(need.gpus for need in needs))
    node = Seats(
        largest.cpus if wishes.cpus_per_node is None else wishes.cpus_per_node,
        largest.gpus if wishes.gpus_per_node is None else wishes.gpus_per_node,
    )
    _check_fit(needs, largest, node)
    return Allocation(
        wishes.nodes,
        node.cpus,
        node.gpus,
        None if wishes.time is None else seconds_of(wishes.time),
        _word("partition", wishes.partition),
        _word("account", wishes.account),
    )


def _need(trial: TrialSpec) -> Seats:
    return seats_of(trial.workers, trial.resources.cpus_per_worker, trial.resources.gpus_per_worker)


def _check_fit(needs: Mapping[Seats, int], largest: Seats, node: Seats) -> None:
    too_large = sorted({workers for need, workers in needs.items() if not need.fits(node)})
    if not too_large:
        return
    scarce = "cpus" if largest.cpus > node.cpus else "gpus"
    wanted, given = (getattr(seats, scarce) for seats in (largest, node))
    fitting = max((workers for workers in needs.values() if workers < too_large[0]), default=0)
    smaller = f", or keep to at most {fitting} workers" if fitting else ", or ask for less per worker"
    what = "cores" if scarce == "cpus" else "GPUs"
    raise SeatingError(
        f"space.workers: {', '.join(map(str, too_large))} cannot be seated: the largest gang takes {wanted} {what} on "
        f"one node, and --{scarce}-per-node gives {given}",
        f"ask for --{scarce}-per-node {wanted}{smaller}",
    )


def seconds_of(time: str) -> int:
    """A time limit in SLURM's words, in seconds.

    Raises:
        UsageError: not such a time, or too short to end a sweep in order.
    """
    found = _TIME.fullmatch(time)
    if not found:
        raise UsageError(
            f"--time: SLURM does not know the time {time!r}", "write it like 90 (minutes), 1:30:00 or 2-12:00:00"
        )
    seconds = _seconds(found)
    if seconds < _LEAST_TIME_S:
        raise UsageError(f"--time: {time!r} is {seconds} seconds", f"ask for at least {_LEAST_TIME_S // 60} minutes")
    return seconds


def _seconds(found: re.Match[str]) -> int:
    if found["short"]:
        parts = [int(part) for part in found["short"].split(":")]
        hours, minutes, seconds = [(0, *parts, 0), (0, *parts), tuple(parts)][len(parts) - 1]
        return 3600 * hours + 60 * minutes + seconds
    days, hours, minutes, seconds = (int(found[name] or 0) for name in ("days", "hours", "minutes", "seconds"))
    return 86400 * days + 3600 * hours + 60 * minutes + seconds


def _word(name: str, value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"[\w.,@+:-]+", value):
        raise UsageError(f"--{name}: {value!r} cannot be the name of one", "`sinfo` and `sacctmgr` list the names")
    return value


def _kinds(spec: SweepSpec) -> Sequence[TrialSpec]:
    """Trials that need all that any trial of the spec needs."""
    spec.check_effects()
    return [*plan(spec, first_points).kinds, *(outermost(spec) if spec.search.learns else [])]
