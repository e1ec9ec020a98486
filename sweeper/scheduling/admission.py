"""Which trials may begin: the seats they take, whether they fit at all, worker counts that are set aside."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence

from sweeper.errors import LaunchError, SeatingError
from sweeper.gangs.seats import Capacity, SeatLedger, Seats, Shape, seats_of
from sweeper.plan.trial import TrialSpec
from sweeper.store import TrialRecord, WaitingTrial

logger = logging.getLogger(__name__)

MOST_IN_A_ROW = 10


def shape_of(trial: TrialRecord | WaitingTrial) -> Shape:
    """Workers, and the cores and GPUs of each."""
    return trial.workers, trial.resources["cpus_per_worker"], trial.resources["gpus_per_worker"]


def check_seating(trials: Iterable[TrialSpec], capacity: Capacity, *, oversubscribe: bool = False) -> None:
    """See that each worker count fits on the hosts when they are empty, or may be oversubscribed on one.

    Raises:
        SeatingError: the worker counts that do not, what they need, and what there is.
    """
    shapes = ((t.workers, t.resources.cpus_per_worker, t.resources.gpus_per_worker) for t in trials)
    check_shapes(shapes, capacity, oversubscribe=oversubscribe)


def check_shapes(shapes: Iterable[Shape], capacity: Capacity, *, oversubscribe: bool = False) -> None:
    """The same for the shapes of trials."""
    too_large = sorted(
        shape for shape in set(shapes) if not _can_ever_begin(shape, capacity, oversubscribe=oversubscribe)
    )
    if not too_large:
        return
    _, cpus, gpus = too_large[0]
    counts = ", ".join(str(workers) for workers, _, _ in too_large)
    each = _counted(cpus, "CPU") + (f" and {_counted(gpus, 'GPU')}" if gpus else "")
    most_cpus = max((host.cpus for host in capacity.hosts), default=0)
    most_gpus = max((host.gpus for host in capacity.hosts), default=0)
    there = _counted(most_cpus, "CPU") + (f" and {_counted(most_gpus, 'GPU')}" if gpus else "")
    fitting = capacity.room(too_large[0])
    spanning = capacity.scattered and not capacity.apart
    fit = f"{_counted(fitting, 'worker')} fit{'s' * (fitting == 1)}"
    together = f": {fit} on {len(capacity.hosts)} hosts together" if spanning else ""
    remedy = f"keep to at most {_counted(fitting, 'worker')}" if fitting else "ask for less per worker"
    may_share = not oversubscribe and bool(most_gpus or not gpus)
    sharing = f", or let workers share {'cores and GPUs' if gpus else 'cores'}" if may_share else ""
    raise SeatingError(
        f"space.workers: {counts} cannot be seated: a worker takes {each}, and the largest host has {there}{together}",
        f"{remedy}, or change resources{sharing}",
        "--oversubscribe" if may_share else "",
    )


def _counted(number: int, name: str) -> str:
    return f"{number} {name}{'s' * (number != 1)}"


def seats_for(shape: Shape, capacity: Capacity, *, oversubscribe: bool = False) -> Seats:
    """What a gang takes: all that its ranks ask for, or what a host has of that where it may be oversubscribed."""
    asked = seats_of(*shape)
    if not oversubscribe or capacity.can_ever_seat(shape):
        return asked
    return capacity.most_of(asked) or asked


def _can_ever_begin(shape: Shape, capacity: Capacity, *, oversubscribe: bool) -> bool:
    """Whether a gang fits on the empty hosts, or may share what one of them has."""
    return capacity.can_ever_seat(shape) or (oversubscribe and capacity.most_of(seats_of(*shape)) is not None)


class LaunchFailures:
    """Counts attempts that failed before their training began, by worker count."""

    def __init__(self) -> None:
        self._in_a_row: Counter[int] = Counter()
        self._reasons: dict[int, str] = {}

    def worked(self, workers: int) -> None:
        """A gang of this size has begun to train."""
        self._in_a_row[workers] = 0

    def failed(self, workers: int, reason: str) -> None:
        """An attempt on such a gang failed before that."""
        self._in_a_row[workers] += 1
        self._reasons[workers] = reason
        if self._in_a_row[workers] == MOST_IN_A_ROW:
            logger.warning("no more gangs of %d workers are started: %s", workers, self._problem(workers))

    def set_aside(self, workers: int) -> bool:
        """Whether no more gangs of this size are to be started."""
        return self._in_a_row[workers] >= MOST_IN_A_ROW

    def error(self, workers: int) -> LaunchError:
        """Why trials of this size are left."""
        remedy = "mend that, then rerun the failed trials, and those that wait run too"
        return LaunchError(f"gangs of {workers} workers: {self._problem(workers)}", remedy, "`sweeper rerun --failed`")

    def _problem(self, workers: int) -> str:
        return f"{MOST_IN_A_ROW} attempts in a row failed before training, the last one so: {self._reasons[workers]}"


class Admission:
    """The seats of an executor; with `oversubscribe` a trial that no host can seat takes as much as one has.

    Where trials run `one_at_a_time`, none fits beside another, however many seats are free.
    """

    def __init__(self, capacity: Capacity, *, oversubscribe: bool = False, one_at_a_time: bool = False) -> None:
        self._ledger, self._oversubscribe = SeatLedger(capacity), oversubscribe
        self._one_at_a_time = one_at_a_time
        self._seatless: dict[str, Shape] = {}  # trials whose gangs find no seats, and what they wait for
        self._known = [capacity]  # all that there has been, the present last
        self._waits = False  # for hosts that are away, and has said so

    def resize(self, capacity: Capacity) -> None:
        """From now on there is so much: hosts of a cluster come and go."""
        self._ledger.capacity = capacity
        if capacity != self._known[-1]:
            self._known = [*(one for one in self._known if one != capacity), capacity]
            self._waits = False

    def need(self, trial: TrialRecord | WaitingTrial) -> Seats:
        """What a trial's gang takes: what its ranks ask for, or what a host has of it where they may share."""
        return seats_for(shape_of(trial), self._ledger.capacity, oversubscribe=self._oversubscribe)

    def fits(self, trial: WaitingTrial) -> bool:
        """Whether the trial's seats are free, and no other of its shape waits for just such seats."""
        return (
            not self.is_full()
            and self._ledger.has_room(self.need(trial))
            and shape_of(trial) not in self._seatless.values()
        )

    def is_full(self) -> bool:
        """Whether no core is free, or a trial runs beside which there is to be none, so that no other can begin."""
        runs = self._ledger.is_held or bool(self._seatless)
        return self._ledger.free.cpus < 1 or (self._one_at_a_time and runs)

    def begin(self, trial: TrialRecord) -> None:
        """A trial runs from now on, and holds its seats."""
        self._ledger.hold(trial.id, self.need(trial))

    def end(self, trial_id: str) -> None:
        """A trial does not run any more."""
        self._ledger.release(trial_id)
        self._seatless.pop(trial_id, None)

    def lend(self, trial: TrialRecord) -> None:
        """Free seats lie on several hosts, too few on each for this trial's gang: others may have them meanwhile."""
        if self._ledger.capacity.scattered:
            self._seatless[trial.id] = shape_of(trial)
            self._ledger.release(trial.id)

    def seated(self, trial: TrialRecord) -> None:
        """A trial's gang has its seats."""
        if self._seatless.pop(trial.id, None):
            self._ledger.hold(trial.id, self.need(trial))

    def check(self, waiting: Sequence[WaitingTrial], failures: LaunchFailures) -> None:
        """See that one of the waiting trials can begin when nothing else runs, now or once hosts are back.

        Raises:
            SeatingError: no host can seat any of them, nor could when there were more.
            LaunchError: the gangs of those that could be seated fail again and again before they train.
        """
        capacity = self._ledger.capacity
        left = self._that_can_begin(waiting, capacity)
        if not left:
            away = next((one for one in self._known if self._that_can_begin(waiting, one)), None)
            if away:
                self._wait_for(waiting, away)
                return
            check_shapes(map(shape_of, waiting), capacity)
        if all(failures.set_aside(trial.workers) for trial in left):
            raise failures.error(left[0].workers)

    def _that_can_begin(self, waiting: Sequence[WaitingTrial], capacity: Capacity) -> list[WaitingTrial]:
        return [t for t in waiting if _can_ever_begin(shape_of(t), capacity, oversubscribe=self._oversubscribe)]

    def _wait_for(self, waiting: Sequence[WaitingTrial], before: Capacity) -> None:
        """Say once that nothing can begin until hosts are back that there were before."""
        if self._waits:
            return
        self._waits = True
        counts = ", ".join(str(workers) for workers in sorted({trial.workers for trial in waiting}))
        logger.warning(
            "trials of %s workers wait for hosts that are away: %d of %d CPUs are left; interrupt the sweep to give up",
            counts,
            self._ledger.capacity.total.cpus,
            before.total.cpus,
        )
