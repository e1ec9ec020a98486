"""Hosts that a gang was lost with: nothing is placed there until they answer again."""

from __future__ import annotations

import logging
import threading
from typing import Any

logger = logging.getLogger(__name__)

NODE_LABEL = "ray.io/node-id"  # which Ray gives each node
_LOOK_S = 5.0


class SetAside:
    """The nodes of a cluster that are passed over. One returns once a task on it has ended, or when Ray forgets it."""

    def __init__(self, ray: Any) -> None:
        self._ray, self._lock = ray, threading.Lock()
        self._nodes: dict[str, str] = {}

    def add(self, address: str) -> None:
        """Pass over the host at this address, until it answers."""
        for node in self._ray.nodes():
            if node["Alive"] and node["NodeManagerAddress"] == address:
                self._add(node["NodeID"], address)

    def _add(self, node: str, address: str) -> None:
        with self._lock:
            if node in self._nodes:
                return
            self._nodes[node] = address
        logger.warning("host %s is set aside until it answers", address)
        threading.Thread(target=self._await, args=(node,), name=f"return of {address}", daemon=True).start()

    def usable(self) -> list[dict[str, Any]]:
        """What Ray says of each living node that is not set aside."""
        nodes = self._ray.nodes()
        with self._lock:
            return [node for node in nodes if node["Alive"] and node["NodeID"] not in self._nodes]

    def selectors(self, bundles: int) -> list[dict[str, str]] | None:
        """The labels that nodes for each of so many bundles must have; None where any will do."""
        with self._lock:
            return [{NODE_LABEL: f"!in({','.join(self._nodes)})"}] * bundles if self._nodes else None

    def _await(self, node: str) -> None:
        pause = threading.Event()
        while not pause.wait(_LOOK_S):
            if not any(one["Alive"] and one["NodeID"] == node for one in self._ray.nodes()) or self._answers(node):
                with self._lock:
                    address = self._nodes.pop(node)
                logger.info("host %s answers again, or is gone from the cluster", address)
                return

    def _answers(self, node: str) -> bool:
        there = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        asked = self._ray.remote(_nothing).options(num_cpus=0, max_retries=0, scheduling_strategy=there).remote()
        try:
            self._ray.get(asked, timeout=_LOOK_S)
        except self._ray.exceptions.RayError:
            self._ray.cancel(asked, force=True)
            return False
        return True


def _nothing() -> None:
    """Done where a host can run a process."""
