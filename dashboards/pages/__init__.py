"""What people look at in a browser: pages of HTML with a little script, and their figures."""

from __future__ import annotations

from fastapi import APIRouter

from dashboards.pages import static_files
from dashboards.pages.figures import figure_routes
from dashboards.pages.kept_tables import Tables
from dashboards.pages.rendering import error_page
from dashboards.pages.sweeps import compare_page, sweep_list, sweep_page
from dashboards.pages.trials import trial_list, trial_page
from sweeper.store import Store

__all__ = ["error_page", "page_routes"]


def page_routes(store: Store) -> APIRouter:
    """All pages of a store, and what they load. Errors are the project's ClearError, for the application to show."""
    routes = APIRouter(include_in_schema=False)
    tables = Tables(store)
    for one in (
        sweep_list.routes(store),
        sweep_page.routes(store, tables),
        trial_list.routes(store),
        trial_page.routes(store),
        figure_routes.routes(store, tables),
        compare_page.routes(store, tables),
        static_files.routes(),
    ):
        routes.include_router(one)
    return routes
