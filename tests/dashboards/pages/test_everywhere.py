"""What holds for every page: no serious finding of axe in either theme, no sideways scrolling on a phone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from sweeper.plan.trial import TrialState
from sweeper.store import Store, SweepRecord
from tests.dashboards.pages.conftest import PHONE, Open
from tests.dashboards.pages.scrolling import drawn

PAGES: dict[str, Callable[[SweepRecord, Store], str]] = {
    "sweeps": lambda _sweep, _store: "/",
    "sweep": lambda sweep, _: f"/sweeps/{sweep.id}?section=heatmap",
    "trials": lambda sweep, _: f"/sweeps/{sweep.id}/trials?workers=2",
    "failed": lambda sweep, store: f"/trials/{store.trials.of(sweep.id, [TrialState.FAILED])[0].id}",
    "diverged": lambda sweep, store: f"/trials/{store.trials.of(sweep.id, [TrialState.DIVERGED])[0].id}",
    "compare": lambda sweep, _: f"/compare?a={sweep.id}&b={sweep.id}",
}


REDRAWN = """
    [...document.querySelectorAll(".js-plotly-plot")].every((plot) =>
        plot.layout.font.color === getComputedStyle(document.documentElement).getPropertyValue("--ink").trim())
"""


def all_drawn(page: Page) -> None:
    """Every figure has come into sight once, and is no longer busy."""
    for figure in page.locator("figure.figure").all():
        drawn(figure)


def serious(page: Page) -> list[tuple[str, str, str]]:
    """What axe finds on the page that keeps somebody from using it."""
    return [
        (finding["id"], finding["nodes"][0]["html"][:200], finding["nodes"][0]["failureSummary"])
        for finding in Axe().run(page).response["violations"]
        if finding["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious_in_either_theme(look: Open, store: Store, sweep: SweepRecord, name: str) -> None:
    page = look(PAGES[name](sweep, store), "light")
    all_drawn(page)
    assert not serious(page)
    page.emulate_media(color_scheme="dark")
    while not page.evaluate(REDRAWN):
        page.wait_for_timeout(50)
    assert not serious(page)


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_need_not_scroll_sideways(look: Open, store: Store, sweep: SweepRecord, name: str) -> None:
    page = look(PAGES[name](sweep, store), "light", PHONE)
    all_drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.mark.parametrize("name", PAGES)
def test_no_page_has_script_or_handlers_of_its_own(look: Open, store: Store, sweep: SweepRecord, name: str) -> None:
    page = look(PAGES[name](sweep, store))
    assert page.locator("script:not([src])").count() == 0
    handlers = "[...document.querySelectorAll('*')].some(e => [...e.attributes].some(a => a.name.startsWith('on')))"
    assert not page.evaluate(handlers)
    assert "taken" not in page.title()
