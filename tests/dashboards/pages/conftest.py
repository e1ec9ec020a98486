"""A real browser, and a real server of the application in front of a store."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import pytest
import uvicorn
from fastapi import FastAPI
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from dashboards.app import create_app
from dashboards.security.settings import Settings
from sweeper.store import Store

UNLIMITED = Settings(requests_per_second=None, changes_per_minute=None)
DESKTOP: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
Open = Callable[..., Page]
expect.set_options(timeout=30_000)  # milliseconds: on a busy machine a page may take long, and no test says how long


@pytest.fixture(scope="module")  # no longer: where it runs, no test can have an event loop of its own
def browser() -> Iterator[Browser]:
    """The machine's Chromium; without one the test is skipped."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()


def application(store: Store) -> FastAPI:
    """The service over a store."""
    return create_app(store, UNLIMITED)


@contextmanager
def served(app: FastAPI, port: int = 0) -> Iterator[str]:
    """The application's address for as long as it is served; on a port of its own unless one is given."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    server.force_exit = True  # streams to pages that are still open
    thread.join(30)


@pytest.fixture
def address(store: Store) -> Iterator[str]:
    """Where the store is served."""
    with served(application(store)) as found:
        yield found


@pytest.fixture
def look(browser: Browser, address: str) -> Iterator[Open]:
    """Opens pages by path, theme and size; at the end none of them may have had an error of script or policy."""
    said: list[str] = []

    def opened(path: str, theme: str = "light", size: ViewportSize = DESKTOP) -> Page:
        scheme: Literal["dark", "light"] = "dark" if theme == "dark" else "light"
        page = browser.new_context(color_scheme=scheme, viewport=size, accept_downloads=True).new_page()
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("console", lambda line: said.append(line.text) if line.type == "error" else None)
        page.goto(address + path)
        return page

    yield opened
    for context in browser.contexts:
        context.close()
    assert not [line for line in said if "ERR_" not in line]  # a server that ends is a test's own doing
