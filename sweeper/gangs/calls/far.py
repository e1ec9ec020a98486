"""The far end of calls: answers what comes on standard input."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, TextIO

from engine.errors import ClearError
from sweeper.errors import LostHostError

logger = logging.getLogger(__name__)

READY = 0


class Answers:
    """What goes back to the near end; safe for several threads."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._lock = out, threading.Lock()

    @classmethod
    def on_standard_output(cls) -> Answers:
        """Answers there; whatever else is printed goes to standard error from now on."""
        answers = cls(os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8"))
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        return answers

    def send(self, call: int, **content: Any) -> None:
        """One answer to a call."""
        # Where the other end has gone, the end of our input follows.
        with self._lock, suppress(BrokenPipeError):
            self._out.write(json.dumps({"call": call, **content}) + "\n")
            self._out.flush()

    def answer(self, call: int, values: Callable[[], Iterator[Any]]) -> bool:
        """All values of a call, and its end or error; whether it went well."""
        try:
            for value in values():
                self.send(call, value=value)
        except ClearError as error:
            host = error.host if isinstance(error, LostHostError) else ""
            self.send(call, error=error.message, remedy=error.remedy, host=host)
        except Exception as error:
            logger.exception("call %d failed", call)
            self.send(call, fault=next(iter(str(error).splitlines()), "") or type(error).__name__)
        else:
            self.send(call)
            return True
        return False


def serve(methods: Mapping[str, Callable[..., Iterator[Any]]], calls: TextIO, answers: Answers) -> None:
    """Do what is asked for, each call in a thread of its own, until the calls end."""
    for line in calls:
        call = json.loads(line)

        def values(method: Any = methods[call["method"]], arguments: list[Any] = call["arguments"]) -> Iterator[Any]:
            return method(*arguments)  # type: ignore[no-any-return]

        threading.Thread(target=answers.answer, args=(call["call"], values), daemon=True).start()
