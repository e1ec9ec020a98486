"""Brings a trial's newest checkpoint from the hosts of its gang to this machine, and to those of its next gang."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
_ANSWER_S = 10.0


class Courier:
    """For one attempt with checkpoints in `folder`, which hosts may share or not; `actors` are those of its hosts.

    Whatever goes wrong leaves the checkpoint before, or none: then a trial begins anew.
    """

    def __init__(self, ray: Any, actors: Sequence[Any], folder: str, workers: int) -> None:
        self._ray, self._actors, self._workers = ray, actors, workers
        self._folder = folder
        self._over, self._too_large = threading.Event(), False

    @contextmanager
    def following(self) -> Iterator[None]:
        """Send what is here to the hosts, and bring what comes, while an attempt runs and when it has ended."""
        self._try(self._send)
        thread = threading.Thread(target=self._follow, name="courier", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join(_ANSWER_S)

    def _follow(self) -> None:
        while not self._over.wait(_PERIOD_S):
            self._try(self._bring)
        self._try(self._bring)  # a gang may have died beside its actors

    def _try(self, step: Any) -> None:
        try:
            step()
        except (self._ray.exceptions.RayError, OSError) as error:
            logger.info("checkpoint in %s: not brought (%s)", self._folder, error)

    def _send(self) -> None:
        """Put the newest whole checkpoint of this machine on the hosts, unless all have one as new."""
        place, here = self._newest_here()
        there = self._get([actor.checkpoint.remote(self._folder) for actor in self._actors])
        if here.step < 0 or all(one.step >= here.step and not one.lacks(self._workers) for one in there):
            return
        files = read_files(str(place), here.step, here.files)
        if files is not None:
            content = self._ray.put(files)
            self._get([actor.put_checkpoint.remote(self._folder, here, content) for actor in self._actors])

    def _bring(self) -> None:
        """Keep the hosts' latest checkpoint here if it is newer and whole."""
        (latest,) = self._get([self._actors[0].checkpoint.remote(self._folder)])
        if self._too_large or latest.step <= self._newest_here()[1].step:
            return
        lacking = set(Checkpoint().lacks(self._workers))
        files: dict[str, bytes] = {}
        for actor in self._actors:
            (found,) = self._get([actor.checkpoint_files.remote(self._folder, latest.step, sorted(lacking))])
            if found is None:
                self._too_large = True
                logger.warning(
                    "checkpoints in %s are larger than %d MiB and stay on their hosts", self._folder, MOST_BYTES >> 20
                )
                return
            files |= found
            lacking -= found.keys()
        if not lacking:
            put_checkpoint(Path(self._folder) / BROUGHT, latest, files)

    def _newest_here(self) -> tuple[Path, Checkpoint]:
        """The newest whole checkpoint of this machine and its folder: ranks may have written it here themselves."""
        folders = [Path(self._folder), Path(self._folder) / BROUGHT]
        found = [(folder, checkpoint_in(folder)) for folder in folders]
        whole = [one for one in found if not one[1].lacks(self._workers)]
        return max(whole, key=lambda one: one[1].step, default=(folders[0], Checkpoint()))

    def _get(self, asked: Sequence[Any]) -> Any:
        return self._ray.get(list(asked), timeout=_ANSWER_S)
