"""Which node of an allocation has room for a gang, and who sits where."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence

from sweeper.gangs.seats import Capacity, SeatLedger, Seats
from sweeper.gangs.slurm.own_job import Node

_LOOK_S = 0.2  # between two looks whether a gang that waits is still wanted


class NodeSeats:
    """Seats all of one gang on one node, on the fullest that has room: larger gangs need whole nodes.

    SLURM itself would spread job steps over the nodes. Safe for several threads.
    """

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.capacity = Capacity(tuple(Seats(node.cpus, node.gpus) for node in nodes), apart=True)
        self._ledgers = {node.name: SeatLedger(Capacity((Seats(node.cpus, node.gpus),))) for node in nodes}
        self._changed = threading.Condition()

    def take(self, holder: Hashable, need: Seats, is_wanted: Callable[[], bool]) -> str | None:
        """The node on which a holder has its seats from now on, once one has room; None if it is not wanted before."""
        while is_wanted():
            with self._changed:
                if node := self._fullest_with_room(need):
                    self._ledgers[node].hold(holder, need)
                    return node
                self._changed.wait(_LOOK_S)
        return None

    def give_back(self, holder: Hashable) -> None:
        """All seats of a holder, if it has any."""
        with self._changed:
            for ledger in self._ledgers.values():
                ledger.release(holder)
            self._changed.notify_all()

    def _fullest_with_room(self, need: Seats) -> str | None:
        free = {name: ledger.free for name, ledger in self._ledgers.items() if ledger.has_room(need)}
        return min(free, key=lambda name: (free[name].gpus, free[name].cpus), default=None)
