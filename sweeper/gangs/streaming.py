"""What executors share: a thread for each job, which finds it a gang and passes its events on."""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from engine.protocol import Ended, Failed, Ready, Started, decode_event
from sweeper.errors import LaunchError, LostHostError, LostRayError
from sweeper.gangs.base import Job, JobEvent
from sweeper.gangs.pool import GangPool
from sweeper.gangs.processes import end_orphans
from sweeper.gangs.seat_locks import SeatLocks, TakenSeats
from sweeper.gangs.seats import Capacity, Seats
from sweeper.plan.trial import TrialSpec

logger = logging.getLogger(__name__)

_JOIN_S = 5.0  # a stream whose other end has died may never end
_NO_MEMORY = "OutOfMemoryError"  # in a traceback
_LOOK_S = 0.2  # between two looks whether other sweeps have given seats back


class GangHandle(Protocol):
    """A gang wherever it runs: in this process's hands or behind a Ray actor. See `sweeper.gangs.gang.Gang`."""

    def run(self, job: Job) -> Iterator[JobEvent]:
        """Train a job; its events as they come."""

    def alive(self) -> bool:
        """Whether the gang can serve another job; asked of an idle one."""

    def stop(self, trial_id: str) -> None:
        """Ask the running trial to end at its next loss point."""

    def close(self) -> None:
        """End the gang, idle or not, and give its seats back."""


class StreamingExecutor(ABC):
    """An executor whose gangs are iterated by threads; subclasses say what a gang is and where it sits.

    A gang whose job has ended stays for the next job of the same shape, until its seats are needed for another. Gangs
    have cores and GPUs of `locks` for themselves: they wait for those that other sweeps of the machine have, unless
    they may `share` them.
    """

    def __init__(self, locks: SeatLocks | None = None, *, share: bool = False) -> None:
        self._locks, self._share = locks or SeatLocks(), share
        self._told = False
        self._held: dict[str, datetime] = {}  # by trial, since when its last job has had its seats
        self._events: queue.Queue[JobEvent] = queue.Queue()
        self._threads: list[threading.Thread] = []
        self._gangs: GangPool[_Seated] = GangPool()
        self._changed = threading.Condition()  # held around each call of the pool; a change wakes who waits for seats

    @abstractmethod
    def capacity(self) -> Capacity:
        """What may be used."""

    @abstractmethod
    def open_gang(self, job: Job) -> GangHandle:
        """A new gang for jobs of this shape; called in the job's thread."""

    def preferred_gpus(self, job: Job) -> Sequence[str]:  # noqa: ARG002 - for those who open gangs ahead
        """The GPUs by name that a gang for this job would best have."""
        return ()

    def came_up_ahead(self, gang: GangHandle) -> bool:  # noqa: ARG002 - as above
        """Whether a new gang had come up before it was opened for a job."""
        return False

    @property
    def takes_seats(self) -> bool:
        """Whether a gang has its seats before it is opened; if not, somebody else gives them out while it opens."""
        return True

    def check_hosts(self, trials: Sequence[TrialSpec]) -> None:  # noqa: B027 - one host is looked at before
        """See `Executor.check_hosts`."""

    def abandon_opening(self) -> None:  # noqa: B027 - most gangs open soon
        """Closing has begun: end gangs that are still being opened, if that may take long."""

    def note_seats(self, job: Job) -> None:
        """A gang that is being opened for a job has its seats from now on."""
        self._held.setdefault(job.trial_id, datetime.now(UTC))

    def is_wanted(self, job: Job) -> bool:
        """Whether a gang is still to be opened for a job: it was not stopped, and closing has not begun."""
        with self._changed:
            return self._gangs.is_wanted(job.trial_id)

    def start(self, job: Job) -> None:
        """Begin a job in a thread of its own."""
        self._held.pop(job.trial_id, None)
        thread = threading.Thread(target=self._serve, args=(job,), name=f"gang {job.trial_id}", daemon=True)
        self._threads = [*(t for t in self._threads if t.is_alive()), thread]
        thread.start()

    def prepare(self, job: Job) -> None:  # noqa: B027 - a hint that may be passed over
        """See `Executor.prepare`: here gangs come up when they have their seats."""

    def events(self, timeout_s: float) -> Sequence[JobEvent]:
        """All events that have come, waiting for the first."""
        found: list[JobEvent] = []
        try:
            found.append(self._events.get(timeout=timeout_s))
            while True:
                found.append(self._events.get_nowait())
        except queue.Empty:
            return found

    def stop(self, trial_id: str) -> None:
        """Ask a running job to end at its next loss point, one that waits for seats to end now."""
        with self._changed:
            seated = self._gangs.stop(trial_id)
            self._changed.notify_all()
        if seated:
            seated.gang.stop(trial_id)

    def remove_checkpoints(self, folder: str) -> None:  # noqa: B027 - on one host they are in the folder itself
        """See `Executor.remove_checkpoints`."""

    def held_since(self, trial_id: str) -> datetime | None:
        """When a job got its seats."""
        return self._held.get(trial_id)

    def dismiss_idle(self) -> None:
        """End gangs that serve nothing, in threads of their own."""
        with self._changed:
            idle = self._gangs.dismiss_idle()
        leaving = [threading.Thread(target=self._end, args=(seated,), daemon=True) for seated in idle]
        self._threads += leaving
        for thread in leaving:
            thread.start()

    def end_orphans(self, sweep_id: str) -> None:
        """End what earlier runs of this sweep, which were killed, have left on this machine."""
        if count := end_orphans(sweep_id):
            logger.warning("ended %d processes that an earlier run of this sweep had left", count)

    def close(self) -> None:
        """End all gangs side by side and wait for their threads."""
        with self._changed:
            idle, busy = self._gangs.close(), self._gangs.busy
            self._changed.notify_all()
        self.abandon_opening()
        closing = [threading.Thread(target=seated.gang.close) for seated in busy]  # whose threads give their cores back
        closing += [threading.Thread(target=self._end, args=(seated,)) for seated in idle]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join()
        for thread in self._threads:
            thread.join(_JOIN_S)

    def held(self) -> Seats:
        """The seats that gangs have, or wait for."""
        with self._changed:
            return self._gangs.held

    def serves(self, job: Job) -> bool:
        """Whether a gang of the job's shape is there, or waits to be opened."""
        with self._changed:
            return self._gangs.closed or self._gangs.serves(job)

    def _serve(self, job: Job) -> None:
        try:
            seated = self._seat(job)
            began = time.time()
            if seated is not None:
                # The last event is told when the gang's seats are free again, or its next job would find them taken.
                last = self._run(seated, job)
                if last is not None and self._is_the_gangs_fault(seated, last):
                    logger.warning("trial %s: its gang died before it trained; a new one takes it", job.trial_id)
                    self._leave(seated, job, reusable=False)
                    seated, last = self._run_anew(job)
                if seated is None:
                    return
                shared = seated.shared or self._locks.was_shared(seated.taken, began)
                self._leave(
                    seated, job, reusable=last is not None and isinstance(last.event, Ended) and not job.is_command
                )
                if last is not None:
                    self._tell_end(replace(last, shared=shared))
            else:
                self._tell_stopped(job)
        except Exception as error:
            # Whatever it was, the scheduler must hear of it or wait for ever.
            logger.debug("job %s failed", job.trial_id, exc_info=True)
            self._tell_end(JobEvent(job.trial_id, job.attempt, failed(job, error)))

    def _is_the_gangs_fault(self, seated: _Seated, last: JobEvent) -> bool:
        """Whether a job that failed before it trained would not have on a new gang.

        One that came up ahead has prepared another job; what one keeps of earlier jobs takes memory.
        """
        if seated.trained or not isinstance(last.event, Failed) or self._gangs.closed:
            return False
        return (seated.served == 0 and seated.ahead) or (seated.served > 0 and _NO_MEMORY in last.event.traceback)

    def _run_anew(self, job: Job) -> tuple[_Seated | None, JobEvent | None]:
        """A job on a gang of its own; nothing where closing has begun, or the job was stopped, which is told."""
        seated = self._seat_anew(job)
        if seated is None:
            self._tell_stopped(job)
            return None, None
        return seated, self._run(seated, job)

    def _tell_stopped(self, job: Job) -> None:
        """A job that was stopped before it had a gang has ended; of one that closing cut off nothing is told."""
        if not self._gangs.closed:
            self._tell_end(JobEvent(job.trial_id, job.attempt, Ended(job.trial_id, "stopped", 0, 0, 0.0)))

    def _tell_end(self, last: JobEvent) -> None:
        # A gang that we are ending ourselves has not failed.
        if not (self._gangs.closed and isinstance(last.event, Failed)):
            self._events.put(last)

    def _run(self, seated: _Seated, job: Job) -> JobEvent | None:
        last, log, seated.trained = None, "", False
        try:
            for event in seated.gang.run(job):
                log = event.log or log  # one that tells of a lost gang names none
                if isinstance(event.event, Ended | Failed):
                    last = event
                elif isinstance(event.event, Ready):
                    self._events.put(replace(event, shared=seated.shared, log_at=seated.log_at))
                else:
                    seated.trained |= isinstance(event.event, Started)
                    self._events.put(event)
        except BaseException:
            self._leave(seated, job, reusable=False)
            raise
        seated.served += isinstance(last and last.event, Ended)
        if last is None:
            return None
        # What comes later counts for the next job: nothing is lost.
        end = _size(log)
        seated.log_at = end or seated.log_at
        return replace(last, log_at=end)

    def _seat(self, job: Job) -> _Seated | None:
        """An idle gang of the job's shape, else a new one; None when closing has begun, or the job is stopped."""
        while (seated := self._take_idle(job)) is not None:
            if seated.gang.alive():
                self._held[job.trial_id] = datetime.now(UTC)
                return seated
            self._leave(seated, job, reusable=False)
        return self._seat_anew(job)

    def _seat_anew(self, job: Job) -> _Seated | None:
        capacity = self.capacity()
        with self._changed:
            leaving = self._gangs.make_room(job, capacity)
        try:
            for seated in leaving:
                self._end(seated)
            return self._open(job)
        finally:
            with self._changed:
                self._gangs.forget(job.trial_id)

    def _take_idle(self, job: Job) -> _Seated | None:
        with self._changed:
            return self._gangs.take_idle(job)

    def _open(self, job: Job) -> _Seated | None:
        taken = self._take_seats(job)
        if taken is None:
            return None
        # GPU ranks have threads besides, as NCCL's, that one core would be too little for.
        bound = () if job.need.gpus or job.granted else taken.cores
        try:
            if self.takes_seats:
                self._held[job.trial_id] = datetime.now(UTC)
            gang = self.open_gang(replace(job, cores=bound, gpus=taken.gpus))
            self.note_seats(job)
        except BaseException as error:
            self._locks.give_back(taken)
            if isinstance(error, LaunchError) and not self.is_wanted(job):
                return None  # it was ended while it came up
            raise
        opened = _Seated(gang, taken, taken.shared or job.granted is not None, self.came_up_ahead(gang))
        with self._changed:
            if self._gangs.opened(job, opened):
                return opened
        self._end(opened)
        return None

    def _take_seats(self, job: Job) -> TakenSeats | None:
        """Cores and GPUs for a new gang, once others leave enough of them; None when it is not wanted any more."""
        while True:
            with self._changed:
                if not self._gangs.is_wanted(job.trial_id):
                    return None
                leaving = self._gangs.leaving
            taken = self._locks.take(job.need, share=self._share, first=self.preferred_gpus(job))
            if taken is not None:
                if not (taken.shared and leaving):
                    return taken
                self._locks.give_back(taken)  # more will be free in a moment
            else:
                with self._changed:
                    idle = self._gangs.dismiss_one()
                if idle:
                    self._end(idle)  # two sweeps might wait for what the other's idle gangs have
                    continue
                self._tell_of_waiting(job)
            with self._changed:
                if self._gangs.is_wanted(job.trial_id):
                    self._changed.wait(_LOOK_S)

    def _tell_of_waiting(self, job: Job) -> None:
        if self._told:
            return
        self._told = True
        needed = f"{job.need.cpus} cores" + (f" and {job.need.gpus} GPUs" if job.need.gpus else "")
        holders = ", ".join(map(str, self._locks.holders()))
        logger.warning(
            "waiting for %s, which other sweeps of this machine have%s; --oversubscribe alone would share them",
            needed,
            f" (process {holders})" if holders else "",
        )

    def _leave(self, seated: _Seated, job: Job, *, reusable: bool) -> None:
        """The job is over: its gang stays for the next one, or ends."""
        with self._changed:
            stays = self._gangs.finished(job.trial_id, reusable=reusable and not seated.taken.guest)
        if not stays:
            self._end(seated)

    def _end(self, seated: _Seated) -> None:
        """End a gang that the pool has sent away, and give its seats back."""
        try:
            seated.gang.close()
        finally:
            self._locks.give_back(seated.taken)
            with self._changed:
                self._gangs.left(seated)
                self._changed.notify_all()


def events_told(job: Job, lines: Iterator[tuple[str, str, float, str]]) -> Iterator[JobEvent]:
    """The events of a job as a far end tells them (`FarGang.run`); a far end that is gone is a failure of its job."""
    try:
        for gang_id, log, elapsed_s, line in lines:
            event = decode_event(line)
            assert event is not None
            yield JobEvent(job.trial_id, job.attempt, event, gang_id, log, elapsed_s)
    except LaunchError as error:
        yield JobEvent(job.trial_id, job.attempt, failed(job, error))


def failed(job: Job, error: Exception) -> Failed:
    """The end of a job whose gang this error ended, or kept from coming up."""
    if isinstance(error, LostHostError):
        return Failed(job.trial_id, error.message, host=error.host)
    if isinstance(error, LostRayError):
        return Failed(job.trial_id, error.message, remedy=error.remedy)
    return Failed(job.trial_id, str(error))


def _size(log: str) -> int | None:
    """How far a log goes in bytes; None for a gang that never came up, and so may have none."""
    try:
        return os.path.getsize(log) if log else None
    except OSError:
        return None


@dataclass(eq=False)
class _Seated:
    """A gang on its seats; `shared` where its ranks have less than a core, or a GPU, each to themselves.

    It has `served` so many jobs to their ends; `trained` whether it has begun to train the one that it was given last.
    `log_at` is how far its log went at the end of the last one.
    """

    gang: GangHandle
    taken: TakenSeats
    shared: bool
    ahead: bool = False
    served: int = 0
    trained: bool = False
    log_at: int = 0
