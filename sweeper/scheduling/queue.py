"""What waits of a sweep, read from the store as far as it is needed to keep all seats busy."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from engine.config import OF_A_RUN
from sweeper.gangs.seats import Shape
from sweeper.scheduling.admission import shape_of
from sweeper.store import Store, WaitingTrial

_MOST = 200  # of each shape: enough for some seconds of the shortest trials


class Queue:
    """Reads the trials of a sweep that wait; with `whole` all of them, in the order of its plan.

    Otherwise some of each shape, so that whatever seats are free, a trial that fits is among them, and like after like:
    a gang that trains one network at a time need not keep many.
    """

    def __init__(self, store: Store, sweep_id: str, *, whole: bool) -> None:
        self._store, self._sweep_id, self._whole = store, sweep_id, whole
        self._shapes: list[tuple[int, str]] = []  # workers, and their resources as the store has them
        self._trials = -1  # of the sweep when the shapes were read
        self._cut: set[Shape] = set()  # of which more trials wait than were read

    def read(self, known: Collection[str]) -> list[WaitingTrial]:
        """What waits now, but for trials that are `known`."""
        found = self._store.trials.waiting(self._sweep_id) if self._whole else self._some(len(known))
        return [trial for trial in found if trial.id not in known]

    def lacks(self, waiting: Iterable[WaitingTrial]) -> bool:
        """Whether more trials wait of a shape that is not among these any more."""
        return bool(self._cut) and not self._cut <= set(map(shape_of, waiting))

    def _some(self, known: int) -> list[WaitingTrial]:
        """The first ones of each shape, behind so many that may be known."""
        most, self._cut = _MOST + known, set()
        found: list[WaitingTrial] = []
        for shape in self._read_shapes():
            some = self._store.trials.waiting(self._sweep_id, shape, most)
            if len(some) == most:
                self._cut.add(shape_of(some[0]))
            found += some
        return _like_after_like(found)

    def _read_shapes(self) -> list[tuple[int, str]]:
        """Read again where trials were added, which is seldom: all that wait are looked at."""
        trials = sum(self._store.progress.states(self._sweep_id).values())
        if trials != self._trials:
            self._shapes, self._trials = self._store.trials.shapes(self._sweep_id), trials
        return self._shapes


def _like_after_like(trials: Iterable[WaitingTrial]) -> list[WaitingTrial]:
    """In the order of the plan, but those for which a gang keeps the same network follow its first."""
    first: dict[object, int] = {}
    keyed = []
    for trial in sorted(trials, key=lambda trial: trial.position):
        others = (item for item in sorted(trial.parameters.items()) if item[0].partition(".")[0] not in OF_A_RUN)
        kind = (shape_of(trial), repr(list(others)))
        keyed.append((first.setdefault(kind, trial.position), trial.position, trial))
    return [trial for _, _, trial in sorted(keyed, key=lambda one: one[:2])]
