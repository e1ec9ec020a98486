"""Pages: the server's part, the first paint in Chromium, and what they weigh, over a large store on SQLite.

A page is asked each time by another threshold, so that nothing of it has been made before. Plotly's script is in no
weight: it is loaded after the first paint, and kept.
"""

from __future__ import annotations

import itertools
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.request import Request, urlopen

from benchmarks.measure import Row, arguments, installed, report, spread, versions
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.store import Store, open_store

KINDS = 97  # different curves
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
WEIGHT = """[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .filter(entry => !entry.name.includes('plotly')).reduce((sum, entry) => sum + entry.encodedBodySize, 0)"""


def curves(points: int) -> list[list[LossPoint]]:
    """Curves of several rates of falling, from 2.3 on; images at 128 a step."""
    return [
        [
            LossPoint(
                step, 128 * step, step * (10 + kind) / points, 0.3 + kind / 97 + 2 * 0.99 ** (500 * step / points)
            )
            for step in range(1, points + 1)
        ]
        for kind in range(KINDS)
    ]


def fill(store: Store, trials: int, points: int, *, kept: bool = True) -> str:
    """A sweep of so many complete trials, a multiple of 16; their loss points are left out unless `kept`.

    Imported, which is a single transaction.
    """
    drawn = curves(points)
    summaries = [summarize(curve) for curve in drawn]
    settings = itertools.product((1, 2, 4, 8), (16, 32, 64, 128), range(1, trials // 16 + 1))
    made = []
    for number, (workers, size, rate) in enumerate(settings):
        kind = number * 31 % KINDS
        parameters = {"workers": workers, "batch_size": size, "learning_rate": round(1e-4 * rate, 8)}
        made.append((parameters, "made up", drawn[kind] if kept else [], summaries[kind]))
    return store.sweeps.add_import(f"{trials} trials", made)


@contextmanager
def serving(url: str) -> Iterator[str]:
    """The address of a server of its own process."""
    command = [sys.executable, "-m", "sweeper.cli", "serve", "--look-only", "--port", "0", "--store", url]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        line = server.stderr.readline()
        found = re.search(r"http://\S+", line)
        if found is None:
            raise RuntimeError(f"the server did not begin: {line}{server.stderr.read()}")
        try:
            wait_for(found[0])
            yield found[0]
        finally:
            server.terminate()


def wait_for(address: str) -> None:
    """Until the server answers."""
    while True:
        try:
            asked(address + "/healthz")
            return
        except OSError:
            time.sleep(0.05)


def asked(address: str) -> float:
    """Milliseconds until an answer is there whole."""
    begun = time.perf_counter()
    with urlopen(Request(address, headers={"Accept-Encoding": "gzip"})) as answer:
        answer.read()
    return 1000 * (time.perf_counter() - begun)


def row(name: str, unit: str, values: Sequence[float], *packages: str) -> Row:
    """The median of what was measured."""
    return Row(name, statistics.median(values), unit, "", None, None, len(values), spread(values), versions(*packages))


def pages(address: str, sweep: str) -> dict[str, Callable[[int], str]]:
    """The pages by name, each with its address for the n-th time."""
    return {
        "list": lambda _: address + "/",
        "sweep page": lambda n: f"{address}/sweeps/{sweep}?threshold={1 + n / 1000}",
    }


def server_rows(address: str, sweep: str, size: str, n: int) -> Iterator[Row]:
    """The server's part, each time by a threshold that nobody has asked for."""
    asked(address + "/")
    for name, place in pages(address, sweep).items():
        values = [asked(place(i)) for i in range(n)]
        yield row(f"server's part of the {name}, {size}", "ms", values, "fastapi", "sqlalchemy")


def browser_rows(address: str, sweep: str, size: str, n: int) -> Iterator[Row]:
    """First paint and weight in a new browser profile each time; nothing without Chromium."""
    path = shutil.which("chromium")
    if path is None or not installed("Chromium", "playwright.sync_api"):
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, place in pages(address, sweep).items():
            looks = [look(browser, place(500 + i)) for i in range(n)]
            yield row(f"first paint of the {name}, {size}", "ms", [paint for paint, _ in looks], "playwright")
            yield row(f"weight of the {name} with all figures, {size}", "kB", [w for _, w in looks], "playwright")
        browser.close()


def look(browser: Any, address: str) -> tuple[float, float]:
    """Milliseconds to the first paint of a page, and kB of it once all its figures have been drawn."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    page.goto(address)
    for figure in page.locator("figure.figure").all():
        figure.scroll_into_view_if_needed()
        figure.locator(".plots[aria-busy=false]").wait_for(timeout=120_000)
    found = page.evaluate(PAINT), page.evaluate(WEIGHT) / 1000
    context.close()
    return found


def main() -> None:
    """Measure and report."""
    given = arguments((__doc__ or "").partition("\n")[0])
    trials, points, many, n = (80, 50, 160, 1) if given.quick else (10_000, 1000, 46_000, 7)
    report(rows(trials, points, many, n), given.json)


def rows(trials: int, points: int, many: int, n: int) -> Iterator[Row]:
    """A store with curves, and a larger one without."""
    for count, kept in ((trials, True), (many, False)):
        with tempfile.TemporaryDirectory() as folder:
            url = f"sqlite:///{folder}/sweeper.db"
            store = open_store(url)
            sweep = fill(store, count, points, kept=kept)
            store.close()
            size = f"{count} trials x {points} points" if kept else f"{count} trials"
            with serving(url) as address:
                yield from server_rows(address, sweep, size, n)
                yield from browser_rows(address, sweep, size, n)


if __name__ == "__main__":
    main()
