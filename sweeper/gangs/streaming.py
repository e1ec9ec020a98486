"""What executors share: a thread a job that passes its events on."""

from __future__ import annotations

import logging
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from engine.protocol import Ended, Failed, Ready
from sweeper.gangs.base import Capacity, Job, JobEvent, Seats
from sweeper.gangs.processes import end_orphans
from sweeper.gangs.seat_pool import Places, SeatPool

logger = logging.getLogger(__name__)

_JOIN_S = 5.0  # a stream whose other end has died may never end
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
    have cores and GPUs of `pool` for themselves: they wait for those that other sweeps of the machine have, unless they
    may `share` them.
    """

    def __init__(self, pool: SeatPool | None = None, *, share: bool = False) -> None:
        self._pool, self._share = pool or SeatPool(), share
        self._told = False
        self._events: queue.Queue[JobEvent] = queue.Queue()
        self._threads: list[threading.Thread] = []
        self._closing = threading.Event()
        self._seating = threading.Lock()  # one job at a time makes room for its gang
        self._lock = threading.Lock()  # over those below
        self._busy: dict[str, _Seated] = {}
        self._opening: dict[str, Seats] = {}
        self._idle: list[_Seated] = []
        self._leaving = 0  # idle gangs that are being dismissed
        self._unwanted: set[str] = set()  # jobs that are stopped while they wait for seats

    @abstractmethod
    def capacity(self) -> Capacity:
        """What may be used."""

    @abstractmethod
    def open_gang(self, job: Job) -> GangHandle:
        """A new gang for jobs of this shape; called in the job's thread."""

    def start(self, job: Job) -> None:
        """Begin a job in a thread of its own."""
        thread = threading.Thread(target=self._serve, args=(job,), name=f"gang {job.trial_id}", daemon=True)
        self._threads = [*(t for t in self._threads if t.is_alive()), thread]
        thread.start()

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
        with self._lock:
            seated = self._busy.get(trial_id)
            if trial_id in self._opening:
                self._unwanted.add(trial_id)
        if seated:
            seated.gang.stop(trial_id)

    def dismiss_idle(self) -> None:
        """End gangs that serve nothing, in threads of their own."""
        with self._lock:
            idle, self._idle = self._idle, []
        leaving = [threading.Thread(target=self._dismiss, args=(seated,), daemon=True) for seated in idle]
        self._threads += leaving
        for thread in leaving:
            thread.start()

    def end_orphans(self, sweep_id: str) -> None:
        """End what earlier runs of this sweep, which were killed, have left on this machine."""
        if count := end_orphans(sweep_id):
            logger.warning("ended %d processes that an earlier run of this sweep had left", count)

    def close(self) -> None:
        """End all gangs side by side and wait for their threads."""
        with self._lock:
            self._closing.set()
            idle, self._idle = self._idle, []
            busy = [seated.gang for seated in self._busy.values()]
        closing = [threading.Thread(target=gang.close) for gang in busy]  # whose threads give their cores back
        closing += [threading.Thread(target=self._dismiss, args=(seated,)) for seated in idle]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join()
        for thread in self._threads:
            thread.join(_JOIN_S)

    def _serve(self, job: Job) -> None:
        try:
            seated = self._seat(job)
            began = time.time()
            if seated is not None:
                # The last event is told when the gang's seats are free again, or its next job would find them taken.
                last = self._run(seated, job)
                shared = seated.shared or self._pool.was_shared(seated.places, began)
                self._leave(
                    seated, job, reusable=last is not None and isinstance(last.event, Ended) and not job.is_command
                )
                if last is not None:
                    self._tell_end(replace(last, shared=shared))
            elif not self._closing.is_set():
                self._tell_end(JobEvent(job.trial_id, job.attempt, Ended(job.trial_id, "stopped", 0, 0, 0.0)))
        except Exception as error:
            # Whatever it was, the scheduler must hear of it or wait for ever.
            logger.debug("job %s failed", job.trial_id, exc_info=True)
            self._tell_end(JobEvent(job.trial_id, job.attempt, Failed(job.trial_id, str(error))))

    def _tell_end(self, last: JobEvent) -> None:
        # A gang that we are ending ourselves has not failed.
        if not (self._closing.is_set() and isinstance(last.event, Failed)):
            self._events.put(last)

    def _run(self, seated: _Seated, job: Job) -> JobEvent | None:
        last = None
        try:
            for event in seated.gang.run(job):
                if isinstance(event.event, Ended | Failed):
                    last = event
                elif isinstance(event.event, Ready):
                    self._events.put(replace(event, shared=seated.shared))
                else:
                    self._events.put(event)
        except BaseException:
            self._leave(seated, job, reusable=False)
            raise
        return last

    def _seat(self, job: Job) -> _Seated | None:
        """An idle gang of the job's shape, else a new one; None when closing has begun, or the job is stopped."""
        with self._seating:
            while (seated := self._take_idle(job)) is not None:
                if seated.gang.alive():
                    return seated
                self._leave(seated, job, reusable=False)
            with self._lock:
                leaving = self._make_room(job)
                self._opening[job.trial_id] = job.need
            for seated in leaving:
                self._dismiss(seated)
        try:
            return self._open(job)
        finally:
            with self._lock:
                del self._opening[job.trial_id]
                self._unwanted.discard(job.trial_id)

    def _take_idle(self, job: Job) -> _Seated | None:
        with self._lock:
            for seated in self._idle:
                if seated.serves(job):
                    self._idle.remove(seated)
                    self._busy[job.trial_id] = seated
                    return seated
        return None

    def _open(self, job: Job) -> _Seated | None:
        places = self._take(job)
        if places is None:
            return None
        # GPU ranks have threads besides, as NCCL's, that one core would be too little for.
        bound = () if job.need.gpus or job.granted else places.cores
        try:
            opened = _Seated(job, self.open_gang(replace(job, cores=bound, gpus=places.gpus)), places)
        except BaseException:
            self._pool.give_back(places)
            raise
        with self._lock:
            if not self._closing.is_set():
                self._busy[job.trial_id] = opened
                return opened
        self._dismiss(opened)
        return None

    def _take(self, job: Job) -> Places | None:
        """Cores and GPUs for a new gang, once others leave enough of them; None when it is not wanted any more."""
        while not (self._closing.is_set() or job.trial_id in self._unwanted):
            leaving = self._leaving
            places = self._pool.take(job.need, share=self._share)
            if places is not None:
                if self._share or not (places.shared and leaving):
                    return places
                self._pool.give_back(places)  # more will be free in a moment
            with self._lock:
                idle = self._idle.pop(0) if self._idle else None
            if idle:
                self._dismiss(idle)  # two sweeps might wait for what the other's idle gangs have
                continue
            if places is None:
                self._tell_of_waiting(job)
            self._closing.wait(_LOOK_S)
        return None

    def _tell_of_waiting(self, job: Job) -> None:
        if self._told:
            return
        self._told = True
        needed = f"{job.need.cpus} cores" + (f" and {job.need.gpus} GPUs" if job.need.gpus else "")
        holders = ", ".join(map(str, self._pool.holders()))
        logger.warning(
            "waiting for %s, which other sweeps of this machine have%s; --oversubscribe would share them",
            needed,
            f" (process {holders})" if holders else "",
        )

    def _dismiss(self, seated: _Seated) -> None:
        with self._lock:
            self._leaving += 1
        try:
            seated.gang.close()
        finally:
            self._pool.give_back(seated.places)
            with self._lock:
                self._leaving -= 1

    def _make_room(self, job: Job) -> list[_Seated]:
        """Idle gangs, longest idle first, whose seats a new one for `job` needs; called under the lock."""
        capacity, leaving = self.capacity(), []
        sitting = [*(seated.job.need for seated in (*self._busy.values(), *self._idle)), *self._opening.values()]
        taken = sum(sitting, Seats(0))
        while self._idle and (_scattered(capacity) or not job.need.fits(capacity.total - taken)):
            leaving.append(self._idle.pop(0))
            taken -= leaving[-1].job.need
        return leaving

    def _leave(self, seated: _Seated, job: Job, *, reusable: bool) -> None:
        with self._lock:
            self._busy.pop(job.trial_id, None)
            # Where seats are scattered, a gang that is being opened may wait for just these.
            needed = self._opening and _scattered(self.capacity())
            if reusable and not needed and not seated.places.guest and not self._closing.is_set():
                self._idle.append(seated)
                return
        self._dismiss(seated)


@dataclass(frozen=True)
class _Seated:
    """A gang with the job that it was opened for."""

    job: Job
    gang: GangHandle
    places: Places

    @property
    def shared(self) -> bool:
        """Whether its ranks have less than a core, or a GPU, each to themselves."""
        return self.places.shared or self.job.granted is not None

    def serves(self, job: Job) -> bool:
        """Whether the gang has the shape that `job` needs."""
        mine, its = self.job, job
        return not job.is_command and (mine.workers, mine.cpus_per_worker, mine.gpus_per_worker) == (
            its.workers,
            its.cpus_per_worker,
            its.gpus_per_worker,
        )


def _scattered(capacity: Capacity) -> bool:
    """Whether free seats may lie on several hosts, so that only a host with enough of them helps."""
    return len(capacity.hosts) > 1
