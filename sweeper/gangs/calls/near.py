"""The near end of calls: a process that we start, calls in, answers out."""

from __future__ import annotations

import contextlib
import itertools
import json
import queue
import subprocess
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sweeper.errors import LaunchError, LostHostError
from sweeper.gangs.calls.far import READY

_JOIN_S = 10.0


class CalledProcess:
    """A process that answers calls; it leads a session of its own, and its standard error goes to `log`.

    It is called `name` in errors, with a `remedy`. Safe for several threads. Raises OSError if it cannot be started.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], log: Path, *, name: str, remedy: str
    ) -> None:
        self._log, self._name, self._remedy = log, name, remedy
        self._numbers = itertools.count(READY + 1)
        self._answers: dict[int, queue.SimpleQueue[dict[str, Any]]] = {READY: queue.SimpleQueue()}
        self._ended = ""  # why, once the process has
        self._lock = threading.Lock()  # over the three above
        self._writing = threading.Lock()
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=dict(environment),
                text=True,
                encoding="utf-8",
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, name=name, daemon=True)
        self._reader.start()

    def until_ready(self, limit_s: float | None) -> Any:
        """Wait for the process to take calls; what it says then. Raises as `call` does."""
        return self._first(READY, limit_s)

    def call(self, method: str, *arguments: Any, limit_s: float) -> Any:
        """The one value of a method of the far end.

        Raises:
            LaunchError: it fails, gives no value within the limit, or the process has ended.
        """
        return self._first(self._ask(method, arguments), limit_s)

    def stream(self, method: str, *arguments: Any, limit_s: float | None = None) -> Iterator[Any]:
        """All values of a method, each within the limit after the one before; raises as `call` does."""
        return self._values(self._ask(method, arguments), limit_s)

    def leave(self, limit_s: float) -> None:
        """End the calls, and give the process this long to end by itself."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(limit_s)

    def join(self) -> None:
        """Wait for the last answer of a process that has ended."""
        self._reader.join(_JOIN_S)

    def no_answer(self, cause: object) -> LaunchError:
        """The process does not do what it should."""
        return LaunchError(f"{self._name} does not answer ({cause})", self._remedy)

    def ended(self, last_words: str) -> LaunchError:
        """The process has ended, after these words in its log."""
        return self.no_answer(last_words)

    def _first(self, number: int, limit_s: float | None) -> Any:
        values = self._values(number, limit_s)
        try:
            return next(values, None)
        finally:
            values.close()

    def _ask(self, method: str, arguments: tuple[Any, ...]) -> int:
        number = next(self._numbers)
        with self._lock:
            answers = self._answers[number] = queue.SimpleQueue()
            if self._ended:
                answers.put({"fault": self._ended})
        assert self.process.stdin is not None
        # A process that has ended says so by the end of its answers.
        with self._writing, contextlib.suppress(BrokenPipeError, ValueError):
            self.process.stdin.write(json.dumps({"call": number, "method": method, "arguments": arguments}) + "\n")
            self.process.stdin.flush()
        return number

    def _values(self, number: int, limit_s: float | None) -> Generator[Any, None, None]:
        with self._lock:
            answers = self._answers[number]
        try:
            while True:
                try:
                    answer = answers.get(timeout=limit_s)
                except queue.Empty:
                    raise self.no_answer(f"no word within {limit_s:g} s") from None
                if "fault" in answer:
                    raise self.ended(answer["fault"])
                if answer.get("host"):
                    raise LostHostError(answer["error"], answer["host"])
                if "error" in answer:
                    raise LaunchError(answer["error"], answer["remedy"])
                if "value" not in answer:
                    return
                yield answer["value"]
        finally:
            with self._lock:
                del self._answers[number]

    def _read(self) -> None:
        """Pass the answers on, until they end."""
        assert self.process.stdout is not None
        with self.process.stdout as lines_in:
            for line in lines_in:
                answer = json.loads(line)
                with self._lock:
                    if answers := self._answers.get(answer["call"]):
                        answers.put(answer)
        lines = self._log.read_text(errors="replace").strip().splitlines() if self._log.exists() else []
        with self._lock:
            self._ended = lines[-1] if lines else "it has ended"
            for answers in self._answers.values():
                answers.put({"fault": self._ended})
