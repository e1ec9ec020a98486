"""Whether a plan can be seated at all, asked before anything is submitted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from sweeper.errors import SeatingError
from sweeper.gangs.base import Capacity, Seats, seats_of
from sweeper.trial import TrialSpec

Shape: TypeAlias = tuple[int, int, int]  # workers, cores and GPUs of each


def check_seating(trials: Iterable[TrialSpec], capacity: Capacity, *, oversubscribe: bool = False) -> None:
    """See that each worker count fits on some host when it is empty, or may be oversubscribed there.

    Raises:
        SeatingError: the worker counts that do not, what they need, and what there is.
    """
    shapes = ((t.workers, t.resources.cpus_per_worker, t.resources.gpus_per_worker) for t in trials)
    check_shapes(shapes, capacity, oversubscribe=oversubscribe)


def check_shapes(shapes: Iterable[Shape], capacity: Capacity, *, oversubscribe: bool = False) -> None:
    """The same for the shapes of trials."""
    too_large = sorted(
        shape
        for shape in set(shapes)
        if not capacity.can_ever_seat(seats_for(shape, capacity, oversubscribe=oversubscribe))
    )
    if not too_large:
        return
    _, cpus, gpus = too_large[0]
    counts = ", ".join(str(workers) for workers, _, _ in too_large)
    each = f"{cpus} CPU{'s' * (cpus > 1)}" + (f" and {gpus} GPU{'s' * (gpus > 1)}" if gpus else "")
    most_cpus = max((host.cpus for host in capacity.hosts), default=0)
    most_gpus = max((host.gpus for host in capacity.hosts), default=0)
    there = f"{most_cpus} CPUs" + (f" and {most_gpus} GPUs" if gpus else "")
    fitting = min(most_cpus // cpus, most_gpus // gpus if gpus else most_cpus)
    remedy = f"keep to at most {fitting} workers" if fitting else "ask for less per worker"
    sharing = "" if oversubscribe or not (most_gpus or not gpus) else ", or let them share with --oversubscribe"
    raise SeatingError(
        f"space.workers: {counts} cannot be seated: a worker takes {each}, and the largest host has {there}",
        f"{remedy}, or change resources{sharing}",
    )


def seats_for(shape: Shape, capacity: Capacity, *, oversubscribe: bool = False) -> Seats:
    """What a gang takes: all that its ranks ask for, or what a host has of that where it may be oversubscribed."""
    asked = seats_of(*shape)
    if not oversubscribe or capacity.can_ever_seat(asked):
        return asked
    return capacity.most_of(asked) or asked
