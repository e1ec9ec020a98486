"""How far a sweep is, looked at again and again at little cost: for `sweeper watch` and for live pages."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from sweeper.remaining import Remaining, remaining
from sweeper.store import Store, SweepRecord
from sweeper.store.progress import RunningTrial

_ESTIMATE_EVERY_S = 2.0


class Follower:
    """Looks at one sweep. Each method raises NotFoundError once it is deleted, and StoreError."""

    def __init__(self, store: Store, sweep_id: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._sweep_id, self._clock = store, sweep_id, clock
        self._sweep: SweepRecord | None = None
        self._left: Remaining | None = None
        self._estimated_at = -math.inf
        self._changed, self._seen = 0, ""

    def running(self) -> list[RunningTrial]:
        """The trials that run now."""
        return self._store.progress.running(self._sweep_id)

    def progress(self, running: Sequence[RunningTrial]) -> dict[str, Any]:
        """{"state", "states", "total", "ended", "seconds_left" (and "_low", "_high"), "running", "changed", "problem"}.

        `running` has the ids of the trials that run, `problem` what keeps a service from running the sweep. `changed`
        grows when a trial has ended or the sweep's state is another. The time left is estimated every two seconds, None
        where nothing can be said.
        """
        sweep = self._counted()
        if (now := self._clock()) - self._estimated_at >= _ESTIMATE_EVERY_S:
            to_come = sweep.total - sweep.trials
            self._left = remaining(self._store, sweep.id, to_come) if running else None
            self._estimated_at = now
        states = {state.value: count for state, count in sorted(sweep.states.items()) if count}
        ended = {state: count for state, count in sweep.states.items() if state.ended}
        if (seen := f"{sorted(ended.items())} {sweep.state}") != self._seen:
            self._seen, self._changed = seen, self._changed + 1
        left = self._left if running else None
        return {
            "state": sweep.state,
            "states": states,
            "total": sweep.total,
            "ended": sweep.ended,
            "seconds_left": left and left.seconds,
            "seconds_left_low": left and left.low,
            "seconds_left_high": left and left.high,
            "running": [one.trial for one in running],
            "changed": self._changed,
            "problem": None if running else self._problem(),
        }

    def _problem(self) -> dict[str, str] | None:
        submission = self._store.submissions.of(self._sweep_id)
        return submission.problem if submission else None

    def _counted(self) -> SweepRecord:
        """The sweep as it is; its trials are counted by an index, and gone through only where that has changed."""
        states = self._store.progress.states(self._sweep_id)
        if self._sweep is None or states != self._sweep.states:
            self._sweep = self._store.find_sweep(self._sweep_id)
        return self._sweep
