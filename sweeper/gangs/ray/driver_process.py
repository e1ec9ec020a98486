"""The driver process of one executor, as the executor sees it: calls in, answers out."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

from sweeper.errors import LaunchError, LostHostError
from sweeper.gangs.processes import end_job, family
from sweeper.gangs.seats import Capacity

_START_S = 60.0
_CLOSE_S = 10.0
_CONNECTING = 0  # the call that the driver answers of itself once it is connected
_PRIVATE_REMEDY = "check it with `sweeper doctor`, or use the local executor"
_CLUSTER_REMEDY = (
    "start the cluster, run on one of its nodes, and set RAY_AUTH_MODE and RAY_AUTH_TOKEN_PATH as on its nodes"
)


class DriverProcess:
    """A process that is connected to Ray: to a cluster by its address, or to a private Ray by how much it may use.

    A private Ray listens on the loopback interface only, asks a secret of whoever connects, and keeps its files in a
    temporary folder that goes with it. Safe for several threads.

    Raises:
        LaunchError: Ray cannot be started or reached, within a minute.
    """

    def __init__(self, place: str | Capacity) -> None:
        self._address = place if isinstance(place, str) else None
        # Sockets in this folder have paths of at most 107 characters: the system's folder, not a user's deep one.
        self._folder = Path(tempfile.mkdtemp(prefix="sweeper-ray-", dir="/tmp"))
        self._log = self._folder / "driver.log"
        self._numbers = itertools.count(_CONNECTING + 1)
        self._answers: dict[int, queue.SimpleQueue[dict[str, Any]]] = {_CONNECTING: queue.SimpleQueue()}
        self._ended = ""  # why, once the process has
        self._lock = threading.Lock()  # over the three above
        self._writing = threading.Lock()
        try:
            self._process = self._begun(place)
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        try:
            self._reader = threading.Thread(target=self._read, name="Ray's driver", daemon=True)
            self._reader.start()
            self._first(_CONNECTING, _START_S)
        except BaseException:  # an interrupt as well: nobody else would end it
            self.close()
            raise

    def _begun(self, place: str | Capacity) -> subprocess.Popen[str]:
        with self._log.open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "sweeper.gangs.ray.driver", "--folder", str(self._folder), *_options(place)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=dict(os.environ) if isinstance(place, str) else _private(os.environ),
                text=True,
                encoding="utf-8",
                start_new_session=True,
            )

    def call(self, method: str, *arguments: Any, limit_s: float) -> Any:
        """The one value of a method of `sweeper.gangs.ray.driver.Gangs`.

        Raises:
            LaunchError: it fails, gives no value within the limit, or the process has ended.
        """
        return self._first(self._ask(method, arguments), limit_s)

    def stream(self, method: str, *arguments: Any, limit_s: float | None = None) -> Iterator[Any]:
        """All values of a method, each within the limit after the one before; raises as `call` does."""
        return self._values(self._ask(method, arguments), limit_s)

    def close(self) -> None:
        """Leave Ray, or shut a private one down; what has not ended by then is killed. Safe to call twice."""
        if self._process.returncode is not None:
            return
        members = family(self._process.pid)
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSE_S)
        end_job(self._process, members)
        self._reader.join(_CLOSE_S)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _first(self, number: int, limit_s: float) -> Any:
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
        assert self._process.stdin is not None
        # A process that has ended says so by the end of its answers.
        with self._writing, contextlib.suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(json.dumps({"call": number, "method": method, "arguments": arguments}) + "\n")
            self._process.stdin.flush()
        return number

    def _values(self, number: int, limit_s: float | None) -> Generator[Any, None, None]:
        with self._lock:
            answers = self._answers[number]
        try:
            while True:
                try:
                    answer = answers.get(timeout=limit_s)
                except queue.Empty:
                    raise self._silent(f"no word within {limit_s:g} s") from None
                if "fault" in answer:
                    raise self._silent(answer["fault"])
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
        assert self._process.stdout is not None
        with self._process.stdout as lines_in:
            for line in lines_in:
                answer = json.loads(line)
                with self._lock:
                    if answers := self._answers.get(answer["call"]):
                        answers.put(answer)
        lines = self._log.read_text(errors="replace").strip().splitlines() if self._log.exists() else []
        with self._lock:
            self._ended = lines[-1] if lines else "its driver has ended"
            for answers in self._answers.values():
                answers.put({"fault": self._ended})

    def _silent(self, cause: str) -> LaunchError:
        return no_answer(self._address, cause)


def no_answer(address: str | None, cause: object) -> LaunchError:
    """Ray, at an address or a private one, does not do what it should."""
    if address is None:
        return LaunchError(f"Ray on this machine does not answer ({cause})", _PRIVATE_REMEDY)
    return LaunchError(f"Ray at {address} does not answer ({cause})", _CLUSTER_REMEDY)


def _options(place: str | Capacity) -> list[str]:
    if isinstance(place, str):
        return ["--address", place]
    return ["--cpus", str(place.total.cpus), "--gpus", str(place.total.gpus)]


def _private(outer: Mapping[str, str]) -> dict[str, str]:
    """The environment of a Ray of our own. Other users of the machine reach its ports too: they lack the secret."""
    kept = {name: value for name, value in outer.items() if name != "RAY_ADDRESS"}
    return {**kept, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
