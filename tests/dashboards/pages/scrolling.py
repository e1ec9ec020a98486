"""Figures are asked for when they come into sight, and what is drawn above one may push it out of sight again."""

from __future__ import annotations

import time

from playwright.sync_api import Locator

from tests.dashboards.pages.conftest import PATIENCE_S

_LOOK_MS = 50
_SEEN = """figure => ({
  at: figure.getBoundingClientRect().top, window: innerHeight, plotly: typeof window.Plotly,
  asked: performance.getEntriesByType("resource").map(one => [one.name, one.responseEnd]),
})"""


def drawn(figure: Locator) -> Locator:
    """The figure, scrolled to until it is drawn or says why it is not."""
    deadline = time.monotonic() + PATIENCE_S
    while not figure.locator(".plots[aria-busy=false]").count():
        assert time.monotonic() < deadline, figure.evaluate(_SEEN)
        figure.scroll_into_view_if_needed()
        figure.page.wait_for_timeout(_LOOK_MS)
    return figure
