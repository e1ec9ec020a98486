"""What trials take of an executor's seats, and whether any that waits could ever begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sweeper.gangs.base import Capacity, Seats
from sweeper.running import shape_of
from sweeper.seating import check_shapes, seats_for
from sweeper.slots import Slots
from sweeper.store import TrialRecord


class Room:
    """The seats of an executor; with `oversubscribe` a trial that no host can seat takes as much as one has."""

    def __init__(self, capacity: Capacity, *, oversubscribe: bool = False) -> None:
        self._capacity, self._oversubscribe = capacity, oversubscribe

    def need(self, trial: TrialRecord) -> Seats:
        """What a trial's gang takes: what its ranks ask for, or what a host has of it where they may share."""
        return seats_for(shape_of(trial), self._capacity, oversubscribe=self._oversubscribe)

    def free(self, running: Iterable[TrialRecord]) -> Seats:
        """What is left beside the trials that run."""
        return self._capacity.total - sum(map(self.need, running), Seats(0))

    def check(self, waiting: Sequence[TrialRecord], slots: Slots) -> None:
        """See that one of the waiting trials can begin when nothing else runs.

        Raises:
            SeatingError: no host can seat any of them.
            LaunchError: the gangs of those that could be seated fail again and again before they train.
        """
        left = [trial for trial in waiting if self._capacity.can_ever_seat(self.need(trial))]
        if not left:
            check_shapes(map(shape_of, waiting), self._capacity)
        if all(slots.set_aside(trial.workers) for trial in left):
            raise slots.error(left[0].workers)
