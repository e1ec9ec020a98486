"""A rank's ends of the gang's pipes: events out on a saved standard output, commands in on standard input."""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Iterator

from engine.protocol import Command, Event, Exit, Stop, Train, decode_command, encode
from engine.shared_memory import mapped_segments, remove_segments

_STDOUT, _STDERR = 1, 2
ORPHANED = 70  # exit code when the supervisor has gone
BROKEN_COMMAND = 71


class EventWriter:
    """Writes events as JSON lines on what was standard output; everything printed since goes to standard error."""

    def __init__(self) -> None:
        sys.stdout.flush()
        self._file = os.fdopen(os.dup(_STDOUT), "w", encoding="utf-8", buffering=1)
        os.dup2(_STDERR, _STDOUT)

    def send(self, event: Event) -> None:
        """One line, flushed."""
        self._file.write(encode(event) + "\n")
        self._file.flush()


class CommandReader:
    """Reads commands in a thread of its own, so that a running trial can be told to stop.

    The end of standard input means that the supervisor is gone: an idle gang then exits, a training one ends at once,
    since nobody would record what it does.
    """

    def __init__(self) -> None:
        self._commands: queue.Queue[Command] = queue.Queue()
        self._stops: set[str] = set()
        self._lock = threading.Lock()  # over the two below
        self._training = self._orphaned = False
        threading.Thread(target=self._read, name="commands", daemon=True).start()

    def __iter__(self) -> Iterator[Command]:
        """Commands to train or prepare, one by one, sleeping in between, until an exit or the supervisor's end."""
        while not isinstance(command := self._commands.get(), Exit):
            if not self._begin():
                return
            yield command
            self.end_trial()

    def stop_asked(self, trial: str) -> bool:
        """Whether a stop for this trial has come."""
        return trial in self._stops

    def end_trial(self) -> None:
        """Count as idle from now on: said before the trial's end is reported, after which the supervisor may go."""
        with self._lock:
            self._training = False

    def _begin(self) -> bool:
        with self._lock:
            self._training = not self._orphaned
            return self._training

    def _read(self) -> None:
        for line in sys.stdin:
            try:
                command = decode_command(line)
            except ValueError as error:
                print(f"broken command: {error}", file=sys.stderr, flush=True)
                os._exit(BROKEN_COMMAND)
            if isinstance(command, Stop):
                self._stops.add(command.trial)
                continue
            if isinstance(command, Train):
                self._stops.discard(command.trial)  # a stop from before concerned an earlier attempt
            self._commands.put(command)
        with self._lock:
            self._orphaned = True
            if self._training:
                # Nobody is left to tidy up after ranks that end here.
                remove_segments(mapped_segments([os.getpid()]))
                os._exit(ORPHANED)
        self._commands.put(Exit())
