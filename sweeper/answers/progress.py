"""How far a sweep is, looked at again and again at little cost: for `sweeper watch` and for live pages."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sweeper.answers.time_left import Remaining, remaining
from sweeper.plan.sweep_state import SweepState
from sweeper.plan.trial import TrialState
from sweeper.store import Store, SweepRecord
from sweeper.store.progress import RunningTrial

_ESTIMATE_EVERY_S = 2.0
_EARLIER_WORDS = {"pending": SweepState.WAITING}  # of services of earlier versions; their other words are today's


def mark_of(sweep: SweepRecord) -> int:
    """A number that is another one when more trials have ended, or the sweep's state has changed."""
    ended = sorted((state.value, count) for state, count in sweep.states.items() if state.ended)
    return zlib.crc32(f"{ended} {sweep.state}".encode())


def is_over(progress: Mapping[str, Any]) -> bool:
    """Whether nobody runs the sweep any more, nor is a service about to.

    `progress` may be of a service of another version: a sweep in a state that is not known here is not over.
    """
    if progress["problem"]:
        return True
    word = progress["state"]
    if word not in _EARLIER_WORDS and word not in set(SweepState):
        return False
    state = _EARLIER_WORDS.get(word) or SweepState(word)
    return state.over or (state is not SweepState.RUNNING and (progress["stopped"] or not progress["submitted"]))


class Follower:
    """Looks at one sweep. Each method raises NotFoundError once it is deleted, and StoreError."""

    def __init__(self, store: Store, sweep_id: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._sweep_id, self._clock = store, sweep_id, clock
        self._sweep: SweepRecord | None = None
        self._left: Remaining | None = None
        self._estimated_at = -math.inf

    def running(self) -> list[RunningTrial]:
        """The trials that run now."""
        return self._store.progress.running(self._sweep_id)

    def progress(self, running: Sequence[RunningTrial]) -> dict[str, Any]:
        """{"state", "states", "total", "ended", "seconds_left" (and "_low", "_high"), "running", "changed", …}.

        `running` has the ids of the trials that run, `changed` is another number when a trial has ended or the state is
        another (`mark_of`). The time left is estimated every two seconds, None where nothing can be said. "submitted"
        and "stopped" tell whether a service runs the sweep, and whether somebody has stopped it for good, "problem"
        what keeps a service from running it.
        """
        sweep = self._counted()
        if (now := self._clock()) - self._estimated_at >= _ESTIMATE_EVERY_S:
            to_come = sweep.total - sweep.trials
            self._left = remaining(self._store, sweep.id, to_come) if running else None
            self._estimated_at = now
        states = {state.value: count for state, count in sorted(sweep.states.items()) if count}
        submission = self._store.submissions.of(sweep.id)
        left = self._left if running else None
        return {
            "state": sweep.state.value,
            "states": states,
            "total": sweep.total,
            "ended": sweep.ended,
            "seconds_left": left and left.seconds,
            "seconds_left_low": left and left.low,
            "seconds_left_high": left and left.high,
            "running": [one.trial for one in running],
            "changed": mark_of(sweep),
            "submitted": submission is not None,
            "stopped": sweep.stop_asked,
            "problem": submission.problem if submission else None,
        }

    def _counted(self) -> SweepRecord:
        """The sweep as it is; its trials are counted by an index, and gone through only where that has changed."""
        states = self._store.progress.states(self._sweep_id)
        if self._sweep is None or states != self._sweep.states:
            self._sweep = self._store.sweeps.find(self._sweep_id)
        else:
            held = self._store.progress.held(self._sweep_id) if states.get(TrialState.RUNNING) else 0
            stop_asked = self._store.sweeps.stop_is_asked(self._sweep_id)
            self._sweep = replace(self._sweep, held=held, stop_asked=stop_asked)
        return self._sweep
