"""Checkpoints that ended trials have left on hosts: those of pruned, stopped and moved ones."""

from __future__ import annotations

import threading
from typing import Any

from sweeper.gangs.ray.checkpoint_files import remove
from sweeper.gangs.ray.set_aside import SetAside

_REMOVE_S = 4.0  # for all that is still to be removed when the sweep has ended


class Leftovers:
    """Has the hosts of a cluster remove them, each in a task of its own; hosts that do not answer keep theirs."""

    def __init__(self, ray: Any, set_aside: SetAside) -> None:
        self._ray, self._set_aside, self._lock = ray, set_aside, threading.Lock()
        self._marks: dict[str, str] = {}
        self._removing: list[Any] = []

    def expect(self, folder: str, mark: str) -> None:
        """Hosts may have checkpoints in this folder, under this mark, from now on."""
        with self._lock:
            self._marks[folder] = mark

    def remove(self, folder: str) -> None:
        """Begin to remove what hosts have in this folder, under the mark that it had last."""
        with self._lock:
            mark = self._marks.pop(folder, None)
            if mark is None:
                return
            self._removing += [self._on(node["NodeID"], folder, mark) for node in self._set_aside.usable()]
            if self._removing:
                _, self._removing = self._ray.wait(self._removing, num_returns=len(self._removing), timeout=0)

    def join(self) -> None:
        """Wait for the hosts, for a few seconds at most."""
        if self._removing:
            self._ray.wait(self._removing, num_returns=len(self._removing), timeout=_REMOVE_S)

    def _on(self, node: str, folder: str, mark: str) -> Any:
        there = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        options = {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": there}
        return self._ray.remote(remove).options(**options).remote(folder, mark)
