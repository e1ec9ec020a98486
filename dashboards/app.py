"""The service as an ASGI application: pages and API over one store, behind one guard."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware

from dashboards.api import api_routes
from dashboards.api.watches import Watches
from dashboards.pages import error_page, page_routes
from dashboards.pages.login import login_routes
from dashboards.responses.failures import handle_failures
from dashboards.security.guard import Guard
from dashboards.security.settings import Settings
from sweeper.service import Policy, Runner
from sweeper.store import Store

_DESCRIPTION = "Sweeps over batch size, learning rate and worker count: submit, watch, ask for the best."


def create_app(
    store: Store, settings: Settings | None = None, policy: Policy | None = None, runner: Runner | None = None
) -> FastAPI:
    """Pages and API of a store. Sweeps that are submitted wait for a service, which `runner` is where it is given."""
    settings, policy = settings or Settings(), policy or Policy()
    watches = Watches(store)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await watches.close()

    app = FastAPI(
        title="Sweeper",
        description=_DESCRIPTION,
        version="1",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # its page takes its scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        middleware=[Middleware(Guard, settings), Middleware(GZipMiddleware, minimum_size=1000, compresslevel=5)],
    )
    handle_failures(app, error_page)
    app.include_router(api_routes(store, policy, watches, runner))
    app.include_router(login_routes(settings))
    app.include_router(page_routes(store))
    return app
