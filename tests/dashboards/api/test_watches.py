"""What pages are told of a sweep while it goes on."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable
from typing import Any

from dashboards.api.watches import Message, Watches
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.store import Store
from tests.dashboards.sweeps import submit

PATIENCE_S = 20.0


async def until(messages: AsyncIterator[Message], done: Callable[[str, Any], bool]) -> list[tuple[str, Any]]:
    """The messages up to the first one that is the one looked for."""
    found: list[tuple[str, Any]] = []
    async with asyncio.timeout(PATIENCE_S):
        async for message in messages:
            found.append((message.event, json.loads(message.data)))
            if done(*found[-1]):
                return found
    raise AssertionError(found)


def points_of(messages: list[tuple[str, Any]], trial_id: str) -> list[list[Any]]:
    return [
        point
        for event, data in messages
        if event == "points" and trial_id in data["trials"]
        for point in data["trials"][trial_id]["points"]
    ]


def test_progress_and_points_come_as_they_are_recorded(store: Store) -> None:
    sweep_id = submit(store, {"batch_size": [16, 32]})
    first, second = store.trials.of(sweep_id)

    async def watch() -> None:
        watches = Watches(store)
        page = watches.follow(sweep_id, {first.id: None, second.id: None})
        other = watches.follow(sweep_id, {})
        told = await until(page, lambda event, _: event == "progress")
        assert told[-1][1]["states"] == {"pending": 2}
        await until(other, lambda event, _: event == "progress")
        assert watches.pages == 2
        store.attempts.claim(first.id)
        store.attempts.add_points(first.id, 1, [LossPoint(1, 16, 0.5, 2.0), LossPoint(2, 32, 1.0, math.nan)])
        told = await until(page, lambda event, data: bool(points_of([(event, data)], first.id)))
        assert told[-1][1]["trials"] == {first.id: {"attempt": 1, "points": [[1, 16, 0.5, 2.0], [2, 32, 1.0, None]]}}
        late = watches.follow(sweep_id, {first.id: 1})
        told = await until(late, lambda event, _: event == "points")
        assert points_of(told, first.id) == [[2, 32, 1.0, None]]
        await late.aclose()  # type: ignore[attr-defined]
        more = [LossPoint(3, 48, 1.5, 1.0)]
        store.attempts.add_points(first.id, 1, more)
        store.attempts.finish(first.id, 1, TrialState.COMPLETED, summarize(more))
        rest = await until(page, lambda event, data: event == "progress" and data["ended"] == 1)
        if [3, 48, 1.5, 1.0] not in points_of(rest, first.id):
            rest += await until(page, lambda event, _: event == "points")
        assert [3, 48, 1.5, 1.0] in points_of(rest, first.id)
        seen = await until(other, lambda event, data: event == "progress" and data["ended"] == 1)
        assert not [event for event, _ in seen if event == "points"]
        await page.aclose()  # type: ignore[attr-defined]
        await other.aclose()  # type: ignore[attr-defined]
        assert watches.pages == 0

    asyncio.run(watch())


def test_a_new_attempt_begins_its_curve_anew(store: Store) -> None:
    sweep_id = submit(store, {"batch_size": [16]})
    (trial,) = store.trials.of(sweep_id)

    async def watch() -> None:
        watches = Watches(store)
        page = watches.follow(sweep_id, {trial.id: None})
        await until(page, lambda event, _: event == "progress")
        for attempt in (1, 2):
            store.attempts.claim(trial.id)
            await until(page, lambda event, data: event == "progress" and data["running"] == [trial.id])
            store.attempts.add_points(trial.id, attempt, [LossPoint(1, 16, 0.5, float(attempt))])
            told = await until(page, lambda event, _: event == "points")
            assert told[-1][1]["trials"][trial.id] == {"attempt": attempt, "points": [[1, 16, 0.5, float(attempt)]]}
            store.attempts.release(trial.id, attempt, "interrupted")
            await until(page, lambda event, data: event == "progress" and data["running"] == [])
        await watches.close()

    asyncio.run(watch())


def test_a_sweep_that_is_deleted_is_a_fault_in_words(store: Store) -> None:
    sweep_id = submit(store, {"batch_size": [16]})

    async def watch() -> None:
        page = Watches(store).follow(sweep_id, {})
        await until(page, lambda event, _: event == "progress")
        store.sweeps.delete(sweep_id)
        told = await until(page, lambda event, _: event == "fault")
        assert told[-1][1]["error"]["kind"] == "not-found"
        assert sweep_id in told[-1][1]["error"]["message"]
        await page.aclose()  # type: ignore[attr-defined]

    asyncio.run(watch())


def test_a_page_that_does_not_read_is_let_go_and_holds_nobody_up(store: Store) -> None:
    sweep_id = submit(store, {"batch_size": [16]})
    (trial,) = store.trials.of(sweep_id)
    store.attempts.claim(trial.id)

    async def watch() -> None:
        watches = Watches(store, most_unread=3)
        slow, quick = watches.follow(sweep_id, {trial.id: None}), watches.follow(sweep_id, {trial.id: None})
        await until(slow, lambda event, _: event == "progress")
        await until(quick, lambda event, _: event == "progress")
        for step in range(1, 9):
            store.attempts.add_points(trial.id, 1, [LossPoint(step, 16 * step, 0.5 * step, 1.0)])
            await until(quick, lambda event, _: event == "points")
        left = [message async for message in slow]
        assert len(left) <= 3
        assert watches.pages == 1
        await watches.close()
        assert [message async for message in quick] == []

    asyncio.run(watch())
