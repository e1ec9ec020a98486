"""Brings a trial's newest checkpoint from the hosts of its gang to this machine, and to those of its next gang."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol

from sweeper.gangs.ray.checkpoint_files import (
    BROUGHT,
    MOST_BYTES,
    Checkpoint,
    checkpoint_in,
    put_checkpoint,
    read_files,
)

logger = logging.getLogger(__name__)

_PERIOD_S = 2.0
_SLOWEST = 2 * 1024 * 1024  # bytes a second
_LIMIT_S = 10.0 + MOST_BYTES / _SLOWEST  # for what one host sends
_LAST_S = 30.0  # for all that is still to come once an attempt has ended


class Host(Protocol):
    """A host of a gang."""

    def ask(self, method: str, *arguments: Any, limit_s: float | None = None) -> Any:
        """What this method of `HostFiles` returns there. Without a limit it has ended then, or the host is lost.

        Raises:
            TimeoutError: it has not ended within the limit.
            OSError: it failed, or the host is lost.
        """


class ActorHost:
    """A host, asked by its actor."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor

    def ask(self, method: str, *arguments: Any, limit_s: float | None = None) -> Any:
        """See `Host`."""
        try:
            return self._ray.get(getattr(self._actor, method).remote(*arguments), timeout=limit_s)
        except self._ray.exceptions.GetTimeoutError:
            raise TimeoutError(f"{method} takes longer than {limit_s} s") from None
        except self._ray.exceptions.RayError as error:
            raise ConnectionError(f"{method}: {error}") from None


class Courier:
    """For one attempt with checkpoints in `folder`, which hosts may share or not, and which has this `mark`.

    `hosts` are in the order of their ranks, so many as `shares` says on each. Whatever goes wrong leaves the checkpoint
    before, or none: then a trial begins anew.
    """

    def __init__(self, hosts: Sequence[Host], shares: Sequence[int], folder: str, mark: str) -> None:
        self._first, self._folder, self._mark = hosts[0], folder, mark
        ends = accumulate(shares)
        names = [_names(end - ranks, end) for ranks, end in zip(shares, ends, strict=True)]
        # The note lies on the first host, whose turn is last: then all else is there.
        self._turns = list(zip(hosts, names, strict=True))[::-1]
        self._workers = sum(shares)
        self._too_large = False
        self._over, self._writing, self._closed = threading.Event(), threading.Lock(), False

    @contextmanager
    def following(self) -> Iterator[None]:
        """Send what is here to the hosts, then bring what comes while an attempt runs and when it has ended.

        Nothing is sent any more when this begins, and nothing is written here any more when it has ended.
        """
        self._try(self.send)
        thread = threading.Thread(target=self._follow, name="courier", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join(_LAST_S)
            self.close()

    def close(self) -> None:
        """Write nothing here any more, whatever is still on its way."""
        with self._writing:
            self._closed = True

    def _follow(self) -> None:
        pause_s = _PERIOD_S
        while not self._over.wait(pause_s):
            # What came too late has used the gang's network for nothing.
            pause_s = _PERIOD_S if self._try(self.bring) else max(_LIMIT_S, 2 * pause_s)
        self._try(self.bring)  # a gang may have died beside its actors

    def _try(self, step: Callable[[], None]) -> bool:
        """Whether it came to an end within its limit, good or bad."""
        try:
            step()
        except TimeoutError:
            _warn_once(
                f"The network is slow: a checkpoint did not arrive within {_LIMIT_S:.0f} s. If its host is lost, the "
                "trial goes on from an earlier checkpoint, or begins again."
            )
            return False
        except OSError as error:
            logger.info("checkpoint in %s: not brought (%s)", self._folder, error)
        return True

    def send(self) -> None:
        """Put the newest whole checkpoint of this machine on the hosts, unless they have one as new under its mark."""
        for host, _ in self._turns:
            host.ask("begin_checkpoints", self._folder, self._mark)
        place, here = self._newest_here()
        if here.step < 0 or self._have(here.step):
            return
        for host, names in self._turns:
            files = read_files(str(place), here.step, names)
            if files is None:
                self._leave_large()
                return
            host.ask("put_checkpoint", self._folder, self._part(here, host), files)

    def bring(self) -> None:
        """Keep the hosts' latest checkpoint here if it is newer and whole."""
        latest = self._first.ask("checkpoint", self._folder, limit_s=_LIMIT_S)
        if self._too_large or latest.step <= self._newest_here()[1].step:
            return
        for host, names in self._turns:
            found = host.ask("checkpoint_files", self._folder, latest.step, names, limit_s=_LIMIT_S)
            if found is None:
                self._leave_large()
                return
            asked_for = {name: found[name] for name in names if name in found}
            if len(asked_for) < len(names) or not self._keep(self._part(latest, host), asked_for):
                return

    def _keep(self, checkpoint: Checkpoint, files: dict[str, bytes]) -> bool:
        """Write a part of a checkpoint here; not once this is closed, for the folder may be gone then."""
        with self._writing:
            if not self._closed:
                put_checkpoint(Path(self._folder) / BROUGHT, checkpoint, files)
            return not self._closed

    def _part(self, whole: Checkpoint, host: Host) -> Checkpoint:
        return whole if host is self._first else replace(whole, note="")

    def _have(self, step: int) -> bool:
        """Whether the hosts have a whole checkpoint of this step or a later one."""
        there = self._first.ask("checkpoint", self._folder).step
        return there >= step and all(
            set(names) <= set(host.ask("checkpoint_names", self._folder, there)) for host, names in self._turns
        )

    def _newest_here(self) -> tuple[Path, Checkpoint]:
        """The newest whole checkpoint of this machine and its folder: ranks may have written it here themselves."""
        folders = [Path(self._folder), Path(self._folder) / BROUGHT]
        found = [(folder, checkpoint_in(folder)) for folder in folders]
        whole = [one for one in found if not one[1].lacks(self._workers)]
        return max(whole, key=lambda one: one[1].step, default=(folders[0], Checkpoint()))

    def _leave_large(self) -> None:
        self._too_large = True
        _warn_once(
            f"The ranks of a trial on one host write more than {MOST_BYTES >> 20} MiB a checkpoint. Such checkpoints "
            "stay on their hosts: on other hosts the trial begins again."
        )


@cache
def _warn_once(message: str) -> None:
    logger.warning("%s", message)


def _names(first: int, end: int) -> list[str]:
    return [f"rank-{rank}.pt" for rank in range(first, end)]
