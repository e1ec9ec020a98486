"""Actors that must answer: how a host is missed that dies, or that the network no longer reaches, without a word."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from sweeper.gangs.hosts import Lost

PERIOD_S = 2.0
# Ray itself takes a minute and more to give up a host that is silent.
SILENCE_S = 10.0


class Heartbeat:
    """Asks actors, by the addresses of their hosts, again and again to `answer`, as `ask` does it.

    `heard` gets what an actor answers. `lost` is called once, for the first actor that has died, that has not answered
    for `SILENCE_S`, or of whose answer `heard` says what is wrong; both are called in a thread of their own.
    """

    def __init__(
        self,
        ray: Any,
        actors: Mapping[str, Any],
        lost: Callable[[Lost], None],
        heard: Callable[[Any], str | None],
        ask: Callable[[Any], Any] = lambda actor: actor.answer.remote(),
    ) -> None:
        self._ray, self._actors, self._lost, self._heard, self._ask = ray, dict(actors), lost, heard, ask
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="heartbeat", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Ask no more."""
        self._over.set()

    def _watch(self) -> None:
        asked = {address: self._ask(actor) for address, actor in self._actors.items()}
        heard_at = dict.fromkeys(asked, time.monotonic())
        while not self._over.wait(PERIOD_S):
            there, _ = self._ray.wait(list(asked.values()), num_returns=len(asked), timeout=0)
            for address, reference in list(asked.items()):
                if reference in there:
                    try:
                        wrong = self._heard(self._ray.get(reference))
                    except self._ray.exceptions.RayError as error:
                        return self._tell(gone(address, error))
                    if wrong:
                        return self._tell(Lost(f"host {address}: {wrong}"))
                    heard_at[address] = time.monotonic()
                    asked[address] = self._ask(self._actors[address])
                elif time.monotonic() - heard_at[address] > SILENCE_S:
                    return self._tell(Lost(f"host {address} has not answered for {SILENCE_S:g} s", address))
        return None

    def _tell(self, lost: Lost) -> None:
        if not self._over.is_set():
            self._lost(lost)


class DeadMansSwitch:
    """Calls `gone` in a thread of its own, once, when nobody has called `touch` for as long as a heartbeat waits."""

    def __init__(self, gone: Callable[[], None]) -> None:
        self._gone, self._touched, self._over = gone, time.monotonic(), threading.Event()
        threading.Thread(target=self._watch, name="dead man's switch", daemon=True).start()

    def touch(self) -> None:
        """Start counting again."""
        self._touched = time.monotonic()

    def end(self) -> None:
        """Call nobody from now on."""
        self._over.set()

    def _watch(self) -> None:
        while not self._over.wait(PERIOD_S):
            if time.monotonic() - self._touched > SILENCE_S + PERIOD_S:
                self._gone()
                return


def gone(address: str, error: Exception) -> Lost:
    """A host whose actor has died, as a call of it has found out by this error."""
    return Lost(f"host {address}: the process of the gang there is gone ({type(error).__name__})", address)
