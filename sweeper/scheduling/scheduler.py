"""The loop: claims trials, has them run, records what they report. Decides, and never starts a process."""

from __future__ import annotations

import contextlib
import logging
import math
import shutil
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from engine.protocol import Ended, Evaluated, Failed, Point, Ready, Started
from sweeper.errors import LaunchError, LostTrialError, NotFoundError, StoreError
from sweeper.gangs.base import Executor, JobEvent
from sweeper.gangs.process_identity import is_gone, this_machine, this_process
from sweeper.gangs.seats import Capacity, Shape
from sweeper.guides import Guide
from sweeper.guides.base import Enough
from sweeper.paths import checkpoints_folder, gang_log
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.scheduling.admission import Admission, LaunchFailures, shape_of
from sweeper.scheduling.observer import Observer
from sweeper.scheduling.queue import Queue
from sweeper.scheduling.running_trial import (
    STATE_OF,
    Running,
    derive,
    ended_record,
    evaluation_record,
    gang_record,
    job_for,
    must_share,
)
from sweeper.spec import Limits
from sweeper.store import Settled, Store, TrialRecord, WaitingTrial

logger = logging.getLogger(__name__)

_POLL_S = 0.5
_FLUSH_S = 0.3  # what is written sooner is seen sooner on open pages
_SEATLESS_S = 10.0  # a gang that has waited so long for seats may have to wait for long
_LOOK_ROUND_S = 5.0  # between two looks at what others do: the lease is a minute
INTERRUPTED = "interrupted"
_STOPPED = "stopped while it ran"
_MOST_LOSSES = 5  # of hosts under a trial, which may be what brings them down


class Scheduler:
    """Runs the pending trials of one sweep on an executor until none is left.

    `clock` gives monotonic seconds; only the pace of writing depends on it. `interrupts` tells how many have come, and
    is asked between rounds, when nothing is half done: after one `run` ends. With `finish_running` it then starts no
    more and ends when what runs has ended, or at once after a second one. A trial whose attempt fails is attempted
    again, up to `retries` times, and goes on from its last checkpoint where its settings ask for these; one that is
    lost with its host does not count, up to `_MOST_LOSSES` times. With
    `oversubscribe` a trial that no host can seat runs all the same, on as much as one has, and is marked. With
    `one_at_a_time` no trial runs beside another, and no gang comes up beside one. `guide` says
    which trial comes next, and which is stopped before its end. `is_cut_off` tells whether the hosts are being taken
    away, and is asked when an attempt has ended so that this may be why: it then counts as interrupted, and `run` ends.
    """

    def __init__(
        self,
        store: Store,
        executor: Executor,
        observer: Observer,
        clock: Callable[[], float] = time.monotonic,
        interrupts: Callable[[], int] = lambda: 0,
        finish_running: bool = False,
        retries: int = 0,
        limits: Limits | None = None,
        oversubscribe: bool = False,
        one_at_a_time: bool = False,
        guide: Guide | None = None,
        is_cut_off: Callable[[], bool] = lambda: False,
    ) -> None:
        self._store, self._executor, self._observer, self._clock = store, executor, observer, clock
        self._interrupts, self._finish_running, self._retries = interrupts, finish_running, retries
        self._limits, self._oversubscribe, self._one_at_a_time = limits or Limits(), oversubscribe, one_at_a_time
        self._admission = Admission(Capacity(()))
        self._guide = guide or Guide()
        self._ask_cut_off, self._cut_off = is_cut_off, False
        self._failures: Counter[str] = Counter()
        self._losses: Counter[str] = Counter()  # of hosts
        self._launch_failures = LaunchFailures()
        self._no_launch: LaunchError | None = None
        self._shared_shapes: set[Shape] = set()
        self._again: list[WaitingTrial] = []  # and as what each was put back:
        self._put_back_as: dict[str, TrialRecord] = {}
        self._over: deque[tuple[Running, Ended]] = deque()  # ended, and not recorded yet
        self._scheduler_id: str | None = None
        self._looked_at = -math.inf
        self._running: dict[str, Running] = {}
        self._seats_freed = self._may_propose = True
        self._has_started = False  # trials, since the next gang was last thought of

    def run(self, sweep_id: str) -> None:
        """Run all pending trials, in the order of the plan as far as seats allow.

        Others may run trials of the sweep as well; it returns when none waits and none runs anywhere, and takes over
        what those leave behind that go. An interrupt, or any error, ends the running gangs, puts their trials back to
        pending with the points they have reported, and is raised again.

        Raises:
            StoreError: the store refuses.
            LaunchError: the executor cannot say what there is, its MPI is not that of the ranks, or only trials are
                left whose gangs fail again and again before they train.
            SeatingError: only trials are left that no host can seat.
        """
        self._executor.end_orphans(sweep_id)
        self._scheduler_id = self._store.leases.begin(this_machine(), this_process())
        try:
            self._run_all(sweep_id)
        except BaseException:
            # First what was recorded, then the gangs: ending these may take a while, or not come to an end itself.
            try:
                self._give_back()
            finally:
                self._executor.close()
            raise
        finally:
            with contextlib.suppress(StoreError):
                self._store.leases.end(self._scheduler_id)

    def _run_all(self, sweep_id: str) -> None:
        self._admission = Admission(
            self._executor.capacity(), oversubscribe=self._oversubscribe, one_at_a_time=self._one_at_a_time
        )
        queue = self._queue = Queue(self._store, sweep_id, whole=bool(self._guide.over))
        waiting: list[WaitingTrial] = []
        told = False
        while True:
            interrupts = self._interrupts()
            if interrupts > self._finish_running or self._cut_off:
                raise KeyboardInterrupt
            if interrupts and not told:
                told = True
                logger.warning("trials that still run: %d; interrupt again to end them", len(self._running))
            if interrupts or not waiting:
                self._record_ends()  # nothing is started for which it could wait
            if not (waiting or self._again or (self._guide_may_propose and not interrupts)):
                self._executor.dismiss_idle()
            if interrupts and not self._running and self._store.progress.states(sweep_id).get(TrialState.PENDING):
                raise KeyboardInterrupt
            news = self._look_round(sweep_id)
            if news or queue.lacks(waiting) or not (waiting or self._running or self._again):
                # Others may have left something, added something, or still be at it.
                waiting = queue.read({trial.id for trial in self._again} | self._running.keys())
                states = self._store.progress.states(sweep_id)
                unfinished = states.get(TrialState.PENDING, 0) + states.get(TrialState.RUNNING, 0)
                self._seats_freed = self._may_propose = True
                if not unfinished and (interrupts or not (waiting := self._propose(sweep_id))):
                    return
            waiting, self._again = [*self._again, *waiting], []
            if not interrupts:
                waiting = self._start_or_propose(sweep_id, waiting)
                if waiting and not self._running:
                    self._admission.check(waiting, self._launch_failures)
            self._prepare_next(waiting)
            # Only now: the next trials train while the ends of those before are written.
            self._record_ends()
            self._hear()
            self._write_points()

    def _hear(self) -> None:
        """Take what has happened; raises LaunchError where no gang of several ranks can come up here."""
        for event in self._executor.events(_POLL_S):
            self._handle(event)
        if self._no_launch:
            raise self._no_launch

    def _look_round(self, sweep_id: str) -> bool:
        """Now and then keep the lease, release what others left, hear of a wish to stop; whether it was then."""
        now = self._clock()
        if now - self._looked_at < _LOOK_ROUND_S:
            return False
        self._looked_at = now
        assert self._scheduler_id
        if not self._store.leases.renew(self._scheduler_id):
            self._scheduler_id = self._store.leases.begin(this_machine(), this_process())
        if self._store.leases.release_left_behind(sweep_id, lambda other: is_gone(other.host, other.process)):
            self._executor.end_orphans(sweep_id)
        with contextlib.suppress(LaunchError):  # whoever runs on it will hear
            self._admission.resize(self._executor.capacity())
        self._lend_seats(now)
        stopping = self._store.sweeps.stop_is_asked(sweep_id)
        if stopping:
            self._store.sweeps.ask_to_stop(sweep_id)  # cancels what has come to wait since
        if self._guide.over:
            self._guide.learn(self._store.trials.candidates(sweep_id, self._guide.over, kept=False))
        held = self._store.leases.held(self._scheduler_id)
        for trial_id, running in self._running.items():
            # One that is not held any more was given to another, while this process or its machine slept.
            if stopping or held.get(trial_id) != running.trial.attempt:
                self._executor.stop(trial_id)
        known = self._running.keys() | {running.trial.id for running, _ in self._over}
        for trial_id in held.keys() - known:
            # A claim that was recorded, though a lost connection made it look as if it had not been.
            self._store.attempts.release(trial_id, held[trial_id], INTERRUPTED)
        return True

    def _lend_seats(self, now: float) -> None:
        """Do not keep seats free for gangs that have found none for a while, since no host has enough of them."""
        for running in self._running.values():
            if running.is_up or self._executor.held_since(running.trial.id):
                self._admission.seated(running.trial)
            elif now - running.begun_at > _SEATLESS_S:
                self._admission.lend(running.trial)

    def _start_those_that_fit(self, waiting: list[WaitingTrial]) -> list[WaitingTrial]:
        if not self._seats_freed:
            return waiting
        self._seats_freed = False
        waiting, still_waiting = self._in_order(waiting)
        for number, trial in enumerate(waiting):
            if self._admission.is_full():
                return [*still_waiting, *waiting[number:]]
            if not self._admission.fits(trial) or self._launch_failures.set_aside(trial.workers):
                still_waiting.append(trial)
            else:
                self._start(trial)
        return still_waiting

    def _start_or_propose(self, sweep_id: str, waiting: list[WaitingTrial]) -> list[WaitingTrial]:
        """Start what fits, and for as long as all does what the guide thinks of next; those that wait then."""
        waiting = self._start_those_that_fit(waiting)
        while not waiting and (waiting := self._propose(sweep_id)):
            waiting = self._start_those_that_fit(waiting)
        return waiting

    def _prepare_next(self, waiting: Sequence[WaitingTrial]) -> None:
        """Have the gang come up that the first of those who wait for another one will need."""
        if not self._has_started or self._one_at_a_time:
            return
        self._has_started = False
        at_work = {shape_of(running.trial) for running in self._running.values()}
        found = next((one for one in waiting if shape_of(one) not in at_work), None)
        if found is None or self._launch_failures.set_aside(found.workers):
            return
        if trial := self._recorded(found.id):
            self._executor.prepare(job_for(trial, self._admission.need(trial), self._limits))

    def _in_order(self, waiting: list[WaitingTrial]) -> tuple[list[WaitingTrial], list[WaitingTrial]]:
        """Those that may start, and those that are not to yet; what need not run is ended."""
        if not self._guide.over:
            return waiting, []  # in the order of the plan: many wait, and gangs do
        by_id = {trial.id: trial for trial in waiting}
        for trial_id, derived in self._guide.derived(list(by_id)).items():
            del by_id[trial_id]
            if (trial := self._recorded(trial_id)) is None:
                continue
            shares = shape_of(trial) in self._shared_shapes or must_share(trial, self._admission.need(trial))
            self._tell_end(derive(self._store, trial, derived, self._scheduler_id, oversubscribed=shares))
        for trial_id, reason in self._guide.given_up({t.id: t.parameters for t in by_id.values()}).items():
            del by_id[trial_id]
            self._give_up(trial_id, reason)
        self._guide.bar({trial.workers for trial in by_id.values() if self._launch_failures.set_aside(trial.workers)})
        first = self._guide.ordered({t.id: t.parameters for t in by_id.values()})
        return [by_id.pop(trial_id) for trial_id in first], list(by_id.values())

    def _give_up(self, trial_id: str, reason: str) -> None:
        """Prune a trial that waits, unless another scheduler was first and says what becomes of it."""
        settled = self._store.attempts.give_up(trial_id, reason)
        if settled is Settled.RESTORED:
            self._tell_kept(trial_id, f"not repeated, {reason}")
        elif settled:
            self._tell_end(self._recorded(trial_id))

    def _recorded(self, trial_id: str) -> TrialRecord | None:
        """A trial as the store has it; None where its sweep has been deleted."""
        with contextlib.suppress(NotFoundError):
            return self._store.trials.find(trial_id)
        return None

    def _tell_end(self, ended: TrialRecord | None) -> None:
        if ended:
            self._learn(ended)
            self._observer.trial_ended(ended)

    def _tell_kept(self, trial_id: str, why: str) -> None:
        """Tell that a trial has the result again that it had before it was repeated."""
        trial = self._store.trials.find(trial_id)
        self._learn(trial)
        self._observer.result_kept(trial, why)

    def _learn(self, trial: TrialRecord) -> None:
        self._guide.learn([trial.candidate(self._guide.over)] if self._guide.over else [])

    @property
    def _guide_may_propose(self) -> bool:
        """Whether the guide adds trials, and something has happened since it had none to add."""
        return self._guide.proposes and self._may_propose

    def _propose(self, sweep_id: str) -> list[WaitingTrial]:
        """Add to the sweep what the guide thinks of next, where seats are free for it; the trials that wait then."""
        if not self._guide_may_propose:
            return []
        if self._admission.is_full() or self._store.sweeps.stop_is_asked(sweep_id):
            return []
        if self._guide.over:
            # Others may propose as well.
            self._guide.learn(self._store.trials.candidates(sweep_id, self._guide.over, kept=False))
        proposed = self._guide.propose()
        self._may_propose = bool(proposed and self._store.sweeps.extend(sweep_id, proposed, self._guide.most))
        self._seats_freed |= self._may_propose
        return self._queue.read(self._running.keys()) if self._may_propose else []

    def _start(self, waiting: WaitingTrial) -> None:
        """Claim and begin a trial, unless another scheduler was first."""
        store = self._store.attempts
        attempt = store.claim(waiting.id, lambda number: str(gang_log(waiting.id, number)), self._scheduler_id)
        put_back = self._put_back_as.pop(waiting.id, None)  # whoever claims it now, this one is out of date then
        if attempt is None or (trial := put_back or self._recorded(waiting.id)) is None:
            return
        # The mark of a trial that is repeated is of the result which it keeps, not of this attempt.
        is_first = self._failures[trial.id] + self._losses[trial.id] == 0
        shared = trial.oversubscribed and not (is_first and store.keeps_result(trial.id))
        claimed = replace(
            trial,
            state=TrialState.RUNNING,
            reason="",
            attempt=attempt,
            scheduler_id=self._scheduler_id,
            oversubscribed=shared,
        )
        self._has_started = True
        now = self._clock()
        job = job_for(claimed, self._admission.need(trial), self._limits)
        self._running[trial.id] = Running(claimed, job.log, written_at=now, begun_at=now)
        self._admission.begin(claimed)
        self._observer.trial_started(claimed)
        self._executor.start(job)

    def _handle(self, happened: JobEvent) -> None:
        running = self._running.get(happened.trial_id)
        if running is None or running.trial.attempt != happened.attempt:
            return
        trial, event = running.trial, happened.event
        match event:
            case Ready():
                running.log, running.log_from = happened.log, happened.log_at or 0
                gang = gang_record(happened, event, trial.sweep_id)
                kept = bool(trial.config.get("checkpoint_every"))  # with the seconds of earlier attempts
                marks = {"oversubscribed": happened.shared, "keep": kept}
                since = self._executor.held_since(trial.id)
                self._store.attempts.assign_gang(trial.id, trial.attempt, gang, happened.log, **marks, held_since=since)
                running.is_up = True
                running.trial = replace(trial, oversubscribed=happened.shared or (kept and trial.oversubscribed))
            case Started():
                running.trains = True
                self._launch_failures.worked(trial.workers)
                startup_s = max(0.0, happened.elapsed_s - event.setup_seconds)
                self._store.attempts.start(trial.id, trial.attempt, startup_s, event.setup_seconds, event.effective)
                images = event.effective.get("images") or trial.whole_images
                self._guide.begin(trial.id, event.effective.get("steps"), images)
            case Point():
                point = LossPoint(event.step, event.images, event.seconds, event.loss)
                running.points.append(point)
                self._observer.point_reported(trial, point)
                if not running.verdict and (verdict := self._guide.point(trial.id, point)):
                    running.verdict = verdict
                    self._executor.stop(trial.id)
            case Evaluated():
                self._store.attempts.add_evaluation(trial.id, trial.attempt, evaluation_record(event))
            case Ended() if "command" in trial.config and self._is_ended_from_outside():
                pass  # a program that is told to end may do so as if it had completed
            case Ended():
                running.trial = replace(trial, oversubscribed=trial.oversubscribed or happened.shared)
                running.log_to = happened.log_at
                self._over.append((running, event))
                self._leave_seats(running.trial)
            case Failed() if self._interrupts() > self._finish_running or self._is_ended_from_outside():
                pass  # gangs are being ended: the trial counts as interrupted, and another attempt will tell
            case Failed():
                running.log_to = happened.log_at
                self._fail(running, event)

    def _is_ended_from_outside(self) -> bool:
        """Whether what has just ended did so because the hosts are being taken away."""
        if not self._cut_off and self._ask_cut_off():
            self._cut_off = True
            logger.warning("the allocation is ending: trials that still run wait for the next one")
        return self._cut_off

    def _fail(self, running: Running, event: Failed) -> None:
        trial = running.trial
        if event.remedy:  # nothing is wrong with the trial, and the next one would fail like it
            self._no_launch = LaunchError(event.reason, event.remedy)
            self._put_back(running, event.reason, TrialState.FAILED)
            return
        if event.host and self._is_moved(trial):
            self._try_again(running, event)
            return
        if not running.trains:
            self._launch_failures.failed(trial.workers, event.reason)
        if self._may_try_again(trial):
            self._try_again(running, event)
        else:
            self._finish(running, TrialState.FAILED, event.reason, event.traceback)

    def _finish(
        self,
        running: Running,
        state: TrialState,
        reason: str,
        traceback: str = "",
        phases: dict[str, float] | None = None,
    ) -> None:
        trial = running.trial
        self._write(running)
        summary = summarize(running.points)
        try:
            settled = self._store.attempts.finish(
                trial.id,
                trial.attempt,
                state,
                summary,
                reason=reason,
                traceback=traceback,
                phases=phases,
                oversubscribed=trial.oversubscribed,
                printed=running.printed,
                held_since=self._held_since(running),
            )
            if state is not TrialState.FAILED:
                self._remove_checkpoints(trial)
            if settled is Settled.RESTORED:
                self._tell_kept(trial.id, f"repetition {state.value}" + (f", {reason}" if reason else ""))
            else:
                self._tell_end(ended_record(trial, state, reason, summary))
        except LostTrialError:
            self._guide.failed(trial.id)
            logger.warning("trial %s: was given to another scheduler meanwhile; its end here does not count", trial.id)
        self._leave_seats(trial)

    def _remove_checkpoints(self, trial: TrialRecord) -> None:
        """Nobody goes on from those of a trial that has a result."""
        folder = checkpoints_folder(trial.id)
        if trial.config.get("checkpoint_every"):
            self._executor.remove_checkpoints(str(folder))
        shutil.rmtree(folder, ignore_errors=True)

    def _leave_seats(self, trial: TrialRecord) -> None:
        if trial.oversubscribed:
            self._shared_shapes.add(shape_of(trial))  # the times of derived trials may come from it
        self._running.pop(trial.id, None)
        self._admission.end(trial.id)
        self._seats_freed = self._may_propose = True

    def _record_ends(self) -> None:
        while self._over:
            running, event = self._over[0]
            if event.outcome == "stopped" and isinstance(running.verdict, Enough):
                self._put_back(running, str(running.verdict), "timed")
            elif event.outcome == "stopped" and running.verdict:
                reason = "; ".join(filter(None, (str(running.verdict), event.reason)))
                self._finish(running, TrialState.PRUNED, reason, phases=event.phases)
            else:
                stopped = _STOPPED if event.outcome == "stopped" else ""
                self._finish(running, STATE_OF[event.outcome], event.reason or stopped, phases=event.phases)
            self._over.popleft()

    def _is_moved(self, trial: TrialRecord) -> bool:
        """Whether another host is to run a trial whose host was lost."""
        self._losses[trial.id] += 1
        return self._losses[trial.id] <= _MOST_LOSSES and not self._store.sweeps.stop_is_asked(trial.sweep_id)

    def _may_try_again(self, trial: TrialRecord) -> bool:
        """Whether another attempt is due; interruptions and what was tried before this run do not count."""
        self._failures[trial.id] += 1
        return self._failures[trial.id] <= self._retries and not self._store.sweeps.stop_is_asked(trial.sweep_id)

    def _try_again(self, running: Running, failed: Failed) -> None:
        self._guide.failed(running.trial.id)
        waiting = self._put_back(running, failed.reason, TrialState.FAILED, failed.traceback)
        self._observer.attempt_failed(waiting, failed.reason)

    def _put_back(self, running: Running, reason: str, outcome: str, traceback: str = "") -> TrialRecord:
        """Let a trial whose attempt has ended wait again; it as it is now."""
        trial = running.trial
        self._write(running)
        self._release(running, reason, outcome, traceback)
        self._leave_seats(trial)
        waiting = self._put_back_as[trial.id] = replace(trial, state=TrialState.PENDING, scheduler_id=None)
        self._again.append(waiting.waits)
        return waiting

    def _write_points(self) -> None:
        """Write the points of trials that have not been written for a while: others look at the store meanwhile."""
        now = self._clock()
        for running in self._running.values():
            if now - running.written_at >= _FLUSH_S:
                self._write(running)
                running.written_at = now

    def _write(self, running: Running) -> None:
        unwritten: Sequence[LossPoint] = running.points[running.written :]
        self._store.attempts.add_points(running.trial.id, running.trial.attempt, unwritten)
        running.written = len(running.points)

    def _release(
        self, running: Running, reason: str = INTERRUPTED, outcome: str = INTERRUPTED, traceback: str = ""
    ) -> None:
        self._store.attempts.release(
            running.trial.id,
            running.trial.attempt,
            reason,
            outcome,
            traceback,
            printed=running.printed,
            held_since=self._held_since(running),
        )

    def _held_since(self, running: Running) -> datetime | None:
        """Since when an attempt that ends has held its seats, now if it had none; None if the store knows it already.

        The wait for them costs nothing, and is no part of the attempt.
        """
        if running.is_up:
            return None
        return self._executor.held_since(running.trial.id) or datetime.now(UTC)

    def _give_back(self) -> None:
        """Put what is running back to pending; a store that refuses must not hide why we are here."""
        for event in self._executor.events(0.0):
            with contextlib.suppress(StoreError):
                self._handle(event)
        try:
            self._record_ends()
        except StoreError:
            self._running |= {running.trial.id: running for running, _ in self._over}  # as if it had not ended
        refusals: dict[str, StoreError] = {}
        for running in list(self._running.values()):
            for write in (self._write, self._release):
                try:
                    write(running)
                except StoreError as error:
                    refusals[running.trial.id] = error
        self._running.clear()
        if refusals:
            logger.error(
                "%d trials are not recorded to their end, for the store refuses; `sweeper resume` runs them again (%s)",
                len(refusals),
                next(iter(refusals.values())).message,
            )
