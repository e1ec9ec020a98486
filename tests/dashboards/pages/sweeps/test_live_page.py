"""A page that is open while its sweep goes on."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, expect

from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.store import Store, SweepRecord
from tests.dashboards.pages.conftest import Open, application, served
from tests.dashboards.pages.scrolling import drawn

LENGTH = "document.querySelector('#curves .js-plotly-plot').data.at({line}).x.length"


def test_points_progress_and_the_best_come_by_themselves(look: Open, store: Store, sweep: SweepRecord) -> None:
    (running,) = store.trials.of(sweep.id, [TrialState.RUNNING])
    page = look(f"/sweeps/{sweep.id}")
    expect(drawn(page.locator("#curves")).locator(".js-plotly-plot")).to_be_visible()
    live = "document.querySelector('#curves .js-plotly-plot').panel.live.trials"
    line = page.evaluate(f"{live}[{running.id!r}].line")
    assert page.evaluate(LENGTH.format(line=line)) == 20
    expect(page.locator("#running")).to_have_text("1 running now")
    new = [LossPoint(step, 100 * step, step / running.workers, 0.4) for step in range(21, 41)]
    store.attempts.add_points(running.id, 1, new)
    while page.evaluate(LENGTH.format(line=line)) != 40:
        page.wait_for_timeout(50)
    store.attempts.finish(running.id, 1, TrialState.COMPLETED, summarize(store.attempts.points(running.id)))
    ended = store.sweeps.find(sweep.id).ended
    expect(page.locator("#counts")).to_contain_text(f"{ended} of {sweep.total} ended")


def test_a_lost_connection_is_told_and_mended(browser: Browser, store: Store, sweep: SweepRecord) -> None:
    page = browser.new_page()
    with served(application(store)) as address:
        page.goto(f"{address}/sweeps/{sweep.id}")
        expect(page.locator("#running")).to_have_text("1 running now")
        expect(page.locator("#status")).to_have_text("")
    expect(page.locator("#status")).to_have_text("Connection lost; trying again…")
    with served(application(store), int(address.rpartition(":")[2])):
        expect(page.locator("#status")).to_have_text("", timeout=30_000)
    page.close()


def test_what_happened_while_the_connection_was_lost_is_shown(
    browser: Browser, store: Store, sweep: SweepRecord
) -> None:
    (running,) = store.trials.of(sweep.id, [TrialState.RUNNING])
    page = browser.new_page()
    with served(application(store)) as address:
        page.goto(f"{address}/sweeps/{sweep.id}")
        expect(page.locator("#running")).to_have_text("1 running now")
    points = [LossPoint(step, 100 * step, step / 1e6, 0.01) for step in range(21, 23)]
    store.attempts.add_points(running.id, 1, points)
    store.attempts.finish(running.id, 1, TrialState.COMPLETED, summarize(points))  # the best of its group now
    with served(application(store), int(address.rpartition(":")[2])):
        expect(page.locator(f'#best a[href="/trials/{running.id}"]')).to_be_visible(timeout=30_000)
    page.close()


# Those further away, by the margin in `figures.js`, are asked for only when they come near.
_NEARBY_FIGURES_ARE_THERE = """() => [...document.querySelectorAll(".plots[aria-busy=true]")].every((plots) => {
  const place = plots.closest("figure").getBoundingClientRect();
  return place.top > innerHeight + 300 || place.bottom < -300;
})"""


def test_a_fault_of_the_server_is_shown_in_its_words(look: Open, store: Store, sweep: SweepRecord) -> None:
    page = look(f"/sweeps/{sweep.id}")
    with page.expect_response(re.compile(r"/events\?trials=\w")):  # the stream that the drawn curves have asked for
        page.reload()
        drawn(page.locator("#curves"))
    expect(page.locator("#running")).to_have_text("1 running now")
    page.wait_for_function(_NEARBY_FIGURES_ARE_THERE)
    store.sweeps.delete(sweep.id)
    expect(page.locator("#status.fault")).to_contain_text("no such sweep")
