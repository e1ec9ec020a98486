"""Server-sent events of a sweep."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from dashboards.api.documented import errors
from dashboards.api.sweeps import Reference
from dashboards.api.watches import Watches
from sweeper.store import Store

_PING_S = 15
_RETRY_MS = 1000
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "A stream of events.", "content": {"text/event-stream": {}}}
}


def routes(store: Store, watches: Watches) -> APIRouter:
    """The route of events."""
    routes = APIRouter(tags=["events"])

    @routes.get("/sweeps/{sweep}/events", response_class=EventSourceResponse, responses={**_STREAM, **errors()})
    async def follow(
        sweep: Reference,
        trials: Annotated[
            str,
            Query(
                description="Ids of trials whose points are sent, by commas, at most 64; with `:STEP` all points after "
                "that step, which may come twice."
            ),
        ] = "",
        once: Annotated[bool, Query(description="End after the first event.")] = False,
    ) -> EventSourceResponse:
        """What happens to a sweep: `progress` (first of all, as it is now), `points` of trials, `fault`."""
        found = await run_in_threadpool(store.sweeps.find, sweep)
        chosen = dict(_trial(text) for text in trials.split(",") if text)

        async def stream() -> AsyncIterator[ServerSentEvent]:
            async for message in watches.follow(found.id, chosen):
                yield ServerSentEvent(message.data, event=message.event, retry=_RETRY_MS)
                if once:
                    return

        return EventSourceResponse(stream(), ping=_PING_S, headers={"Cache-Control": "no-store"})

    return routes


def _trial(text: str) -> tuple[str, int | None]:
    trial_id, _, step = text.partition(":")
    return trial_id, int(step) if step.isdecimal() and len(step) < 19 else None
