"""The HTTP API: the answers of the command line's --json, under /api/v1."""

from __future__ import annotations

from fastapi import APIRouter

from dashboards.api import events, health, sweeps, trials
from dashboards.api.watches import Watches
from sweeper.service import Policy, Runner
from sweeper.store import Store

__all__ = ["api_routes"]


def api_routes(store: Store, policy: Policy, watches: Watches, runner: Runner | None) -> APIRouter:
    """All routes of the API, with /healthz and /metrics."""
    routes = APIRouter()
    versioned = APIRouter(prefix="/api/v1")
    versioned.include_router(sweeps.routes(store, policy, runner))
    versioned.include_router(trials.routes(store))
    versioned.include_router(events.routes(store, watches))
    routes.include_router(versioned)
    routes.include_router(health.routes(store, watches, runner))
    return routes
