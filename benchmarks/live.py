"""`python -m benchmarks.live`: from a rank's report to its pixel on an open page, and what open pages cost a sweep.

A server looks at a store in which a scheduler of its own process records, as with `sweeper serve`. The page is a real
Chromium's; the many open pages are streams and questions of one client process, as their browsers send them.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx2
import psutil

from benchmarks.measure import Row, add_arguments, alone, compare, installed, report, versions
from sweeper.plan import plan
from sweeper.spec import parse_spec
from sweeper.store import Store, open_store

PAGES = 50
GANGS = 4
POINTS_PER_S = 1000  # of all gangs together
_ASK_EVERY_S = 2.0  # a page asks for the best anew when trials have ended, at most so often

# A trial that trains nothing: each loss is the time at which it is reported.
_REPORTER = """
import sys, time, sweeper
rate, seconds = float(sys.argv[1]), float(sys.argv[2])
sweeper.start()
begin = time.time()
for step in range(1, int(rate * seconds)):
    time.sleep(max(0.0, begin + step / rate - time.time()))
    sweeper.report(loss=time.time(), step=step, images=step)
"""
# Notes for each point that was not on the page before how long ago it was reported, when its frame is drawn.
_WATCH_FRAMES = """
() => {
  window.latencies = [];
  let newest = Date.now() / 1000;
  const look = () => {
    const plot = document.querySelector('[data-kind="curves"] .js-plotly-plot');
    let last = newest;
    for (const line of plot?.data ?? []) {
      for (let i = line.y.length - 1; i >= 0 && !(line.y[i] <= newest); i--) {
        if (line.y[i] > 1e9) {
          window.latencies.push(Date.now() / 1000 - line.y[i]);
          last = Math.max(last, line.y[i]);
        }
      }
    }
    newest = last;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}
"""


def latency(seconds: float, gangs: int, per_second: float) -> list[float]:
    """Seconds from each point's report to the frame that shows it."""
    from playwright.sync_api import sync_playwright

    with _store() as (folder, url, store):
        (folder / "reporter.py").write_text(_REPORTER)
        command = [sys.executable, str(folder / "reporter.py"), str(per_second / gangs), str(seconds), "{number}"]
        spec = {"name": "reporting", "trial": {"command": command}, "space": {"number": list(range(gangs))}}
        sweep_id = _add(store, spec)
        with _server(folder, url) as (address, _), sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            page.goto(address)
            with _scheduler(folder, url, sweep_id, gangs) as scheduler:
                _until(lambda: len(store.progress.running(sweep_id)) == gangs)
                page.goto(f"{address}/sweeps/{sweep_id}?section=curves")
                page.wait_for_selector('[data-kind="curves"] .js-plotly-plot', timeout=60_000)
                page.evaluate(_WATCH_FRAMES)
                scheduler.wait()
                found = page.evaluate("window.latencies")
            browser.close()
    return [float(one) for one in found]


def sweep_seconds(trials: int, images: int, pages: int) -> tuple[float, float]:
    """Seconds of a sweep of short trials, one at a time, and the server's processor time, with so many open pages."""
    with _store() as (folder, url, store):
        training = {"model": "neuron", "data": "step-function", "batch_size": 32, "points": 50, "images": images}
        spec = {"name": "watched", "trial": training, "space": {"seed": list(range(trials))}}
        sweep_id = _add(store, spec)
        with _server(folder, url) as (address, server):
            command = [sys.executable, "-m", "benchmarks.live", "--look", f"{address} {sweep_id} {pages}"]
            with _process(command, folder), _scheduler(folder, url, sweep_id, 1) as scheduler:
                scheduler.wait()
            used = psutil.Process(server.pid).cpu_times()
        ended = [attempt.ended_at for trial in store.trials.of(sweep_id) for attempt in store.attempts.of(trial.id)]
        assert len(ended) == trials
        times = sorted(end.timestamp() for end in ended if end)
    return times[-1] - times[0], used.user + used.system


async def look(address: str, sweep_id: str, pages: int) -> None:
    """Be so many open pages: a stream each, and questions whenever a trial has ended."""

    async def page(client: httpx2.AsyncClient) -> None:
        asked = 0.0
        async with client.stream("GET", f"/api/v1/sweeps/{sweep_id}/events", timeout=None) as stream:
            async for line in stream.aiter_lines():
                if line.startswith("event: progress") and time.monotonic() - asked > _ASK_EVERY_S:
                    asked = time.monotonic()
                    (await client.get(f"/api/v1/sweeps/{sweep_id}/best", timeout=60)).raise_for_status()

    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx2.AsyncClient(base_url=address, limits=limits) as client:
        await asyncio.gather(*(page(client) for _ in range(pages)))


def schedule(url: str, sweep_id: str, at_once: int) -> None:
    """Run a sweep of one-worker trials, so many at once, whatever the machine has."""
    from sweeper.gangs.local import LocalExecutor
    from sweeper.gangs.seats import Capacity, Seats
    from sweeper.live_view import make_view
    from sweeper.scheduling.scheduler import Scheduler

    with contextlib.closing(open_store(url)) as store:
        from rich.console import Console

        sweep = store.sweeps.find(sweep_id)
        view = make_view(Console(stderr=True), store, sweep)
        with contextlib.closing(LocalExecutor(Capacity((Seats(at_once),)))) as executor:
            Scheduler(store, executor, view).run(sweep_id)


@contextlib.contextmanager
def _store() -> Iterator[tuple[Path, str, Store]]:
    with tempfile.TemporaryDirectory() as name:
        url = f"sqlite:///{name}/sweeper.db"
        with contextlib.closing(open_store(url)) as store:
            yield Path(name), url, store


def _add(store: Store, written: Mapping[str, object]) -> str:
    spec = parse_spec(written)
    return store.sweeps.add(spec, plan(spec))


@contextlib.contextmanager
def _server(folder: Path, url: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    command = [sys.executable, "-m", "sweeper.cli", "serve", "--port", "0", "--look-only", "--store", url]
    with _process(command, folder, stderr=subprocess.PIPE) as server:
        assert server.stderr
        found = re.search(rb"at (http://\S+)", server.stderr.readline())
        assert found
        yield found[1].decode(), server


def _scheduler(
    folder: Path, url: str, sweep_id: str, at_once: int
) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "benchmarks.live", "--schedule", f"{url} {sweep_id} {at_once}"]
    return _process(command, folder)


@contextlib.contextmanager
def _process(command: list[str], folder: Path, stderr: int = subprocess.DEVNULL) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, "SWEEPER_LOGS": str(folder / "logs"), "SWEEPER_SEATS": str(folder / "seats")}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=stderr)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def _until(true: object, patience_s: float = 60.0) -> None:
    deadline = time.monotonic() + patience_s
    assert callable(true)
    while not true():
        if time.monotonic() > deadline:
            raise SystemExit("the sweep does not begin")
        time.sleep(0.1)


def rows(quick: bool) -> Iterator[Row]:
    """All figures; a quick run has fewer trials, points and pages."""
    used = versions("fastapi", "uvicorn", "sqlalchemy")
    if shutil.which("chromium") and installed("The page", "playwright"):
        seconds, gangs, per_second = (16.0, 2, 200) if quick else (25.0, GANGS, POINTS_PER_S)
        found = latency(seconds, gangs, per_second)
        name = f"from report to pixel, {gangs} gangs, {per_second} points a second"
        middle, slow = statistics.median(found), statistics.quantiles(found, n=100)[98]
        yield Row(f"{name}: median", middle, "s", "", None, None, len(found), 0.0, used)
        yield Row(f"{name}: 99th percentile", slow, "s", "", None, None, len(found), 0.0, used)
    trials, images, pages, times = (6, 20_000, 5, 1) if quick else (20, 100_000, PAGES, 3)
    cpu: list[float] = []

    def watched() -> float:
        wall, seconds = sweep_seconds(trials, images, pages)
        cpu.append(seconds)
        return wall

    name = f"a sweep of {trials} trials with {pages} open pages"
    yield compare(name, "s", watched, "without pages", lambda: sweep_seconds(trials, images, 0)[0], times, used)
    yield alone(f"{name}: the server's processor time", "s", lambda: statistics.median(cpu), 1, used)


def main() -> None:
    """Measure, or be one of the processes that are measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--schedule", help=argparse.SUPPRESS)
    parser.add_argument("--look", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.schedule:
        url, sweep_id, at_once = given.schedule.split()
        schedule(url, sweep_id, int(at_once))
    elif given.look:
        address, sweep_id, pages = given.look.split()
        asyncio.run(look(address, sweep_id, int(pages)))
    else:
        report(rows(given.quick), given.json)


if __name__ == "__main__":
    main()
