"""What is new of a sweep, asked of the store once for all who look at it, and sent to each of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool

from dashboards.responses.flags import without_flags
from dashboards.responses.json_answers import error_content, to_json
from engine.errors import ClearError
from sweeper.answers.progress import Follower
from sweeper.errors import NotFoundError
from sweeper.ranking.curve import LossPoint
from sweeper.store import Store
from sweeper.store.progress import RunningTrial

logger = logging.getLogger(__name__)

_LOOK_S = 0.2  # while something runs
_LOOK_IDLE_S = 1.0
_MOST_UNREAD = 500
_MOST_CURVES = 64  # that one page may follow


@dataclass(frozen=True)
class Message:
    """A server-sent event: its name and its data, JSON already."""

    event: str
    data: str


@dataclass(eq=False)
class _Page:
    """Somebody who looks: at which trials, after which step of each, None for those that are to come."""

    trials: Mapping[str, int | None]
    queue: asyncio.Queue[Message | None]


@dataclass(frozen=True)
class _News:
    progress: dict[str, Any]
    points: Mapping[str, tuple[int, list[LossPoint]]]  # by trial, with the attempt
    over: bool


class Watches:
    """The sweeps that somebody looks at; a page that leaves `most_unread` messages unread is let go, to come anew."""

    def __init__(self, store: Store, most_unread: int = _MOST_UNREAD) -> None:
        self._store, self._most_unread = store, most_unread
        self._watches: dict[str, _Watch] = {}

    @property
    def pages(self) -> int:
        """How many look."""
        return sum(len(watch.pages) for watch in self._watches.values())

    async def follow(self, sweep_id: str, trials: Mapping[str, int | None]) -> AsyncIterator[Message]:
        """What happens to a sweep, with the points of `trials`, of at most 64: from now on, until it is closed.

        Of a trial whose last known step is given come all points after that one, also those that are there already;
        a point may come twice. The first message is the progress as it is now.
        """
        watch = self._watches.get(sweep_id)
        if watch is None or watch.over:
            watch = self._watches[sweep_id] = _Watch(self._store, sweep_id)
        page = _Page(dict(sorted(trials.items())[:_MOST_CURVES]), asyncio.Queue(self._most_unread))
        watch.add(page)
        try:
            while (message := await page.queue.get()) is not None:
                yield message
        finally:
            watch.pages.discard(page)
            if not watch.pages:
                if self._watches.get(sweep_id) is watch:
                    del self._watches[sweep_id]
                await watch.close()

    async def close(self) -> None:
        """End all."""
        for watch in list(self._watches.values()):
            await watch.close()


class _Watch:
    """One sweep, looked at by a task of its own for as long as there is a page."""

    def __init__(self, store: Store, sweep_id: str) -> None:
        self._store, self._sweep_id = store, sweep_id
        self.pages: set[_Page] = set()
        self._told: Message | None = None
        self._steps: dict[str, tuple[int, int]] = {}  # of each trial that is followed: attempt and last step
        self._rewound: dict[str, int] = {}  # followed from an earlier step on, since a page has come that asks for it
        self._ran: frozenset[str] | None = None  # at the last look
        self._follower = Follower(store, sweep_id)
        self._task = asyncio.get_running_loop().create_task(self._look_for_ever())

    def add(self, page: _Page) -> None:
        """Another page, which is told at once how things stand."""
        self.pages.add(page)
        for trial_id, step in page.trials.items():
            if step is not None:
                self._rewound[trial_id] = min(step, self._rewound.get(trial_id, step))
        if self._told:
            page.queue.put_nowait(self._told)

    @property
    def over(self) -> bool:
        """Whether nobody looks any more."""
        return self._task.done()

    async def close(self) -> None:
        """End the task, and all that listen."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _look_for_ever(self) -> None:
        try:
            await self._look_again_and_again()
        finally:
            for page in list(self.pages):
                _end(page)

    async def _look_again_and_again(self) -> None:
        while True:
            followed = frozenset().union(*(page.trials for page in self.pages))
            rewound, self._rewound = self._rewound, {}
            try:
                news = await run_in_threadpool(self._look, followed, rewound)
            except ClearError as error:
                said = without_flags(error.message), without_flags(error.remedy)
                await self._tell_fault(error_content(error.kind, *said), rewound)
                continue
            except Exception:
                logger.exception("sweep %s", self._sweep_id)
                await self._tell_fault(error_content("internal", "the server has failed", "its log says how"), rewound)
                continue
            self._tell(news)
            await asyncio.sleep(_LOOK_IDLE_S if news.over else _LOOK_S)

    async def _tell_fault(self, content: dict[str, Any], rewound: Mapping[str, int]) -> None:
        self._rewound = {**rewound, **self._rewound}  # for the next look
        self._tell_all(Message("fault", to_json(content).decode()))
        await asyncio.sleep(_LOOK_IDLE_S)

    def _look(self, followed: frozenset[str], rewound: Mapping[str, int]) -> _News:
        running = self._follower.running()
        points = self._new_points(followed, rewound, running)
        self._ran = frozenset(one.trial for one in running)
        return _News(self._follower.progress(running), points, over=not running)

    def _new_points(
        self, followed: frozenset[str], rewound: Mapping[str, int], running: Sequence[RunningTrial]
    ) -> dict[str, tuple[int, list[LossPoint]]]:
        store, attempts = self._store, {one.trial: one.attempt for one in running}
        ask: dict[str, tuple[int, int]] = {}
        for trial_id in followed:
            attempt, known = attempts.get(trial_id), self._steps.get(trial_id)
            if attempt is None and known is None and trial_id in rewound:
                known = self._ended(trial_id, rewound[trial_id])
            if attempt is not None and (known is None or known[0] != attempt):
                is_new = known is not None or (self._ran is not None and trial_id not in self._ran)
                known = (attempt, 0 if is_new else store.progress.last_step(trial_id, attempt))
            if known:
                known = (known[0], min(known[1], rewound.get(trial_id, known[1])))
                ask[trial_id] = self._steps[trial_id] = known
        points = store.progress.points_after(ask) if ask else {}
        for trial_id, new in points.items():
            self._steps[trial_id] = (ask[trial_id][0], new[-1].step)
        for trial_id in ask.keys() - attempts.keys() - points.keys():
            self._steps.pop(trial_id)  # over, and its last points have been seen
        return {trial_id: (ask[trial_id][0], new) for trial_id, new in points.items()}

    def _ended(self, trial_id: str, step: int) -> tuple[int, int] | None:
        """The attempt of a trial that has ended before anybody followed it; None where there is no such trial."""
        with suppress(NotFoundError):
            attempt = self._store.trials.find(trial_id).attempt
            return (attempt, step) if attempt else None
        return None

    def _tell(self, news: _News) -> None:
        message = Message("progress", to_json(_for_pages(news.progress)).decode())
        if message != self._told:
            self._told = message
            self._tell_all(message)
        if not news.points:
            return
        written = {trial_id: _written(attempt, points) for trial_id, (attempt, points) in news.points.items()}
        for page in list(self.pages):
            if mine := [f'"{trial_id}":{written[trial_id]}' for trial_id in page.trials.keys() & written.keys()]:
                _put(page, Message("points", f'{{"trials":{{{",".join(mine)}}}}}'))

    def _tell_all(self, message: Message) -> None:
        for page in list(self.pages):
            _put(page, message)


def _for_pages(progress: Mapping[str, Any]) -> dict[str, Any]:
    """Progress whose problem names no options of the command line."""
    problem = progress["problem"]
    return {**progress, "problem": problem and {name: without_flags(text) for name, text in problem.items()}}


def _written(attempt: int, points: list[LossPoint]) -> str:
    rows = [[p.step, p.images, p.seconds, p.loss] for p in points]
    return to_json({"attempt": attempt, "points": rows}).decode()


def _put(page: _Page, message: Message) -> None:
    try:
        page.queue.put_nowait(message)
    except asyncio.QueueFull:
        _end(page)


def _end(page: _Page) -> None:
    """Close a page's stream, which lets its browser come anew."""
    page.trials = {}
    while not page.queue.empty():
        page.queue.get_nowait()
    page.queue.put_nowait(None)
