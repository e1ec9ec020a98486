"""Which gang serves the next job, and which must leave for it: bookkeeping without threads or processes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from sweeper.gangs.base import Job
from sweeper.gangs.seats import Capacity, SeatLedger, Seats

G = TypeVar("G", bound=Hashable)


class GangPool(Generic[G]):
    """The gangs of one executor: idle, busy or leaving; and the jobs that wait for a gang of their own to open.

    It opens and ends no gang: its user does, and says so here. A gang has the shape and the seats of the job that it
    was opened for. Seats of a gang that leaves count as free. Threads that share a pool hold a lock around each call.
    """

    def __init__(self) -> None:
        self._ledger = SeatLedger(Capacity(()))
        self._opened_for: dict[G, Job] = {}
        self._idle: list[G] = []  # the longest idle first
        self._busy: dict[str, G] = {}  # by trial
        self._leaving: set[G] = set()
        self._waiting: dict[str, Job] = {}
        self._unwanted: set[str] = set()  # those that wait and were stopped
        self._closed = False

    @property
    def busy(self) -> list[G]:
        """The gangs that serve a job."""
        return list(self._busy.values())

    @property
    def leaving(self) -> int:
        """How many gangs are leaving; their places will be free in a moment."""
        return len(self._leaving)

    @property
    def held(self) -> Seats:
        """The seats of all gangs, and of jobs that wait for one."""
        return self._ledger.capacity.total - self._ledger.free

    @property
    def closed(self) -> bool:
        """Whether nothing opens or stays any more."""
        return self._closed

    def serves(self, job: Job) -> bool:
        """Whether a gang of the job's shape is there, or waits to be opened."""
        return any(other.shape == job.shape for other in (*self._opened_for.values(), *self._waiting.values()))

    def take_idle(self, job: Job) -> G | None:
        """The idle gang of the job's shape that serves it from now on, if there is one."""
        for gang in self._idle:
            if not job.is_command and self._opened_for[gang].shape == job.shape:
                self._idle.remove(gang)
                self._busy[job.trial_id] = gang
                return gang
        return None

    def make_room(self, job: Job, capacity: Capacity) -> list[G]:
        """Have a job wait for a new gang; the idle gangs that leave for it, longest idle first.

        On one host as many leave as are needed. Where seats are scattered all do, since nobody knows which of them sit
        together.
        """
        self._ledger.capacity = capacity
        leaving = []
        while self._idle and (capacity.scattered or not self._ledger.has_room(job.need)):
            leaving.append(self._send_away(self._idle[0]))
        self._waiting[job.trial_id] = job
        self._ledger.hold(job.trial_id, job.need)
        return leaving

    def is_wanted(self, trial_id: str) -> bool:
        """Whether a gang is still to be opened for a job that waits."""
        return trial_id in self._waiting and trial_id not in self._unwanted and not self._closed

    def opened(self, job: Job, gang: G) -> bool:
        """A new gang is up. Whether it serves the job that waits for it; it leaves if the pool is closed."""
        self.forget(job.trial_id)
        self._opened_for[gang] = job
        if self._closed:
            self._send_away(gang)
            return False
        self._busy[job.trial_id] = gang
        self._ledger.hold(gang, job.need)
        return True

    def forget(self, trial_id: str) -> None:
        """No gang is opened for a job that waits."""
        if self._waiting.pop(trial_id, None):
            self._ledger.release(trial_id)
        self._unwanted.discard(trial_id)

    def finished(self, trial_id: str, *, reusable: bool) -> bool:
        """A job is over. Whether its gang stays for the next one; if not, it leaves."""
        gang = self._busy.pop(trial_id)
        # Where seats are scattered, a gang that is being opened may wait for just these.
        needed = self._waiting and self._ledger.capacity.scattered
        if reusable and not needed and not self._closed:
            self._idle.append(gang)
            return True
        self._send_away(gang)
        return False

    def stop(self, trial_id: str) -> G | None:
        """A job is not wanted any more; the gang that serves it, if one does."""
        if trial_id in self._waiting:
            self._unwanted.add(trial_id)
        return self._busy.get(trial_id)

    def dismiss_one(self) -> G | None:
        """The longest idle gang, which leaves."""
        return self._send_away(self._idle[0]) if self._idle else None

    def dismiss_idle(self) -> list[G]:
        """All idle gangs, which leave."""
        return [self._send_away(gang) for gang in list(self._idle)]

    def close(self) -> list[G]:
        """Let nothing open or stay from now on; the idle gangs, which leave."""
        self._closed = True
        return self.dismiss_idle()

    def left(self, gang: G) -> None:
        """A gang that was leaving is gone."""
        self._leaving.discard(gang)

    def _send_away(self, gang: G) -> G:
        if gang in self._idle:
            self._idle.remove(gang)
        del self._opened_for[gang]
        self._ledger.release(gang)
        self._leaving.add(gang)
        return gang
