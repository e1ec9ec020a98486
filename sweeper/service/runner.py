"""Runs the sweeps of a service one after another, in the order in which they came."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import threading
from typing import IO

from sweeper.errors import NotFoundError, StoreError
from sweeper.gangs.process_identity import is_gone
from sweeper.paths import make_logs_folder, scheduler_log
from sweeper.service.policy import INTERRUPTED, NOTED, POLICY_VARIABLE, STORE_VARIABLE, Policy
from sweeper.store import Store

logger = logging.getLogger(__name__)

_LOOK_S = 1.0  # a sweep may have come by another service of the same store
_END_S = 30.0  # what a scheduler may take to put back what runs


class Runner:
    """A thread that has submitted sweeps run, each by a scheduler in a process of its own, one at a time.

    A sweep that is the first whose trials have not all ended is run, also when an earlier service had begun it. One
    that cannot be run is passed over, with its problem noted, until somebody asks for it again.
    """

    def __init__(self, store: Store, store_url: str, policy: Policy) -> None:
        self._store, self._url, self._policy = store, store_url, policy
        self._closing, self._come = threading.Event(), threading.Event()
        self._child: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name="runner")
        self._over: set[str] = set()  # that no search will add to
        self.sweep: str | None = None  # which is run now

    def start(self) -> None:
        """Begin."""
        make_logs_folder()
        self._thread.start()

    def look(self) -> None:
        """Something was submitted: look now."""
        self._come.set()

    def is_alive(self) -> bool:
        """Whether it runs sweeps."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Interrupt the sweep that runs, so that its trials wait for the next service, and end."""
        self._closing.set()
        self._come.set()
        if child := self._child:
            _interrupt(child)
        if self._thread.ident:
            self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._come.clear()
            try:
                self.sweep = self._next()
                if self.sweep:
                    self._run_sweep(self.sweep)
            except StoreError as error:
                logger.error("%s", error)
                self._closing.wait(_LOOK_S)
            if self.sweep is None:
                self._come.wait(_LOOK_S)
            self.sweep = None

    def _next(self) -> str | None:
        for sweep_id, is_open in self._store.submissions.runnable():
            if is_open or (sweep_id not in self._over and self._goes_on(sweep_id)):
                return sweep_id
            self._over.add(sweep_id)
        return None

    def _goes_on(self, sweep_id: str) -> bool:
        """Whether a search, all of whose trials have ended, is still to add some."""
        with contextlib.suppress(NotFoundError):  # deleted a moment ago
            sweep = self._store.sweeps.find(sweep_id)
            return sweep.ended < sweep.total and not self._store.sweeps.stop_is_asked(sweep_id)
        return False

    def _run_sweep(self, sweep_id: str) -> None:
        before = self._store.progress.states(sweep_id)
        try:
            code = self._schedule(sweep_id)
        except OSError as error:
            self._note(sweep_id, f"its scheduler cannot be started ({error.strerror})")
            return
        if self._closing.is_set() or code == NOTED:
            return
        if code not in (0, INTERRUPTED):
            # What it has left running waits again, also where nobody asks for the sweep any more.
            self._store.leases.release_left_behind(sweep_id, lambda other: is_gone(other.host, other.process))
            self._note(sweep_id, f"its scheduler ended with exit code {code}, see {scheduler_log(sweep_id)}")
        elif self._store.progress.states(sweep_id) == before:
            self._over.add(sweep_id)  # a search that finds no further points, though it was to have more

    def _schedule(self, sweep_id: str) -> int:
        """Have a scheduler run the sweep; its exit code. Raises OSError where none can be started."""
        # Not on the command line, which others may read: a store's URL may have a password.
        environment = {**os.environ, STORE_VARIABLE: self._url, POLICY_VARIABLE: self._policy.to_json()}
        command = [sys.executable, "-m", "sweeper.service.sweep_process", sweep_id]
        path = scheduler_log(sweep_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as log:
            self._child = _begin(command, environment, log)
            if self._closing.is_set():
                _interrupt(self._child)
            code = self._child.wait()
        self._child = None
        return code

    def _note(self, sweep_id: str, message: str) -> None:
        logger.error("sweep %s: %s", sweep_id, message)
        problem = {"kind": "scheduler", "message": message, "remedy": "resume the sweep when its cause is gone"}
        self._store.submissions.note_problem(sweep_id, problem)


def _begin(command: list[str], environment: dict[str, str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    # In a session of its own: an interrupt at the terminal is the server's, which passes it on.
    return subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
    )


def _interrupt(child: subprocess.Popen[bytes]) -> None:
    """End a scheduler in order; at once where that takes too long. Its gangs end with it."""
    for end, patience_s in ((child.terminate, _END_S), (child.kill, None)):
        end()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(patience_s)
            return
