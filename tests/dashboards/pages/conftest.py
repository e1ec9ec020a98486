"""A real browser, and a real server of the application in front of a store: one of each for all pages."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path

import pytest
import uvicorn
from fastapi import FastAPI
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from dashboards.app import create_app
from sweeper.plan.trial import TrialState
from sweeper.store import Store, SweepRecord, open_store
from tests.dashboards.client import UNLIMITED
from tests.dashboards.pages.awkward import awkward

DESKTOP: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
Open = Callable[..., Page]
PATIENCE_S = 30
expect.set_options(timeout=1000 * PATIENCE_S)  # on a busy machine a page may take long, and no test says how long


@pytest.fixture(scope="package")  # no longer: while it runs, no test can have an event loop of its own
def browser() -> Iterator[Browser]:
    """The machine's Chromium; without one the test is skipped."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="package")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A profile of the browser for all tests, so that it loads and compiles Plotly once."""
    made = browser.new_context()
    yield made
    made.close()


def application(store: Store) -> FastAPI:
    """The service over a store."""
    return create_app(store, UNLIMITED)


class Stage:
    """An application that hands every request to the application of the test that is running."""

    def __init__(self) -> None:
        self._app: FastAPI | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] == "lifespan":
            self._loop = asyncio.get_running_loop()
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        # A page that has just been closed may still ask for something.
        await (self._app or Response(status_code=503))(scope, receive, send)

    @contextmanager
    def showing(self, app: FastAPI) -> Iterator[None]:
        """Hand requests to this application, from its start to its end."""
        assert self._loop is not None
        life: AbstractAsyncContextManager[object] = app.router.lifespan_context(app)
        asyncio.run_coroutine_threadsafe(life.__aenter__(), self._loop).result(PATIENCE_S)
        self._app = app
        yield
        asyncio.run_coroutine_threadsafe(life.__aexit__(None, None, None), self._loop).result(PATIENCE_S)
        self._app = None


@contextmanager
def served(app: FastAPI | Stage, port: int = 0) -> Iterator[str]:
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


@pytest.fixture(scope="package")
def stage() -> Iterator[tuple[Stage, str]]:
    """The server of all tests, and its address."""
    made = Stage()
    with served(made) as address:
        yield made, address


@pytest.fixture
def address(store: Store, stage: tuple[Stage, str]) -> Iterator[str]:
    """Where the store is served."""
    with stage[0].showing(application(store)):
        yield stage[1]


@pytest.fixture(scope="package")
def tabs(context: BrowserContext) -> list[Page]:
    """Empty tabs: a new one would start two more processes."""
    return [context.new_page()]


@pytest.fixture
def look(context: BrowserContext, tabs: list[Page], address: str) -> Iterator[Open]:
    """Opens pages by path, theme and size; at the end none of them may have had an error of script or policy."""
    said: list[str] = []
    used: list[Page] = []

    def fault(error: Error) -> None:
        said.append(str(error))

    def line(message: ConsoleMessage) -> None:
        if message.type == "error":
            said.append(message.text)

    def opened(path: str, theme: str = "light", size: ViewportSize = DESKTOP) -> Page:
        page = tabs.pop() if tabs else context.new_page()
        used.append(page)
        page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        page.set_viewport_size(size)
        page.on("pageerror", fault)
        page.on("console", line)
        page.goto(address + path)
        return page

    yield opened
    for page in used:
        page.remove_listener("pageerror", fault)
        page.remove_listener("console", line)
        page.evaluate("localStorage.clear()")  # the theme that a test has chosen
        page.goto("about:blank")
        tabs.append(page)
    assert not [text for text in said if "ERR_" not in text]  # a server that ends is a test's own doing


@pytest.fixture(scope="session")
def kept_awkward(tmp_path_factory: pytest.TempPathFactory, kept_store: Path) -> tuple[Path, str]:
    """A file with the sweep of `awkward`, and the sweep's id; tests work on copies."""
    folder = tmp_path_factory.mktemp("awkward")
    path = Path(shutil.copy(kept_store, folder / "sweeper.db"))
    store = open_store(f"sqlite:///{path}")
    sweep = awkward(store, folder)
    store.close()
    return path, sweep.id


@pytest.fixture
def url(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """Where the test's store is: an empty one, or that of `awkward` if the test asks for its sweep."""
    path: Path = request.getfixturevalue("kept_store")
    if "sweep" in request.fixturenames:
        path, _ = request.getfixturevalue("kept_awkward")
    shutil.copy(path, tmp_path / "sweeper.db")
    return f"sqlite:///{tmp_path}/sweeper.db"


@pytest.fixture
def sweep(store: Store, kept_awkward: tuple[Path, str]) -> SweepRecord:
    """The sweep of `awkward` in the test's store; whoever runs it is alive, however long ago the file was made."""
    for trial in store.trials.of(kept_awkward[1], [TrialState.RUNNING]):
        assert trial.scheduler_id
        store.leases.renew(trial.scheduler_id)
    return store.sweeps.find(kept_awkward[1])
