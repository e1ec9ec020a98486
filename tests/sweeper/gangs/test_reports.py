"""What a program reports becomes points whose seconds count from where its clock began."""

from __future__ import annotations

import time

import pytest

from sweeper.gangs.reports import Reports


def test_a_report_from_before_the_clock_began_is_at_its_beginning() -> None:
    """A program may report before the word that it runs has come, and the reports are read when all ranks are up."""
    reports = Reports("t")
    early = time.monotonic()
    reports.begin()
    points = [reports.point({"loss": loss}, came) for loss, came in ((1.0, early), (0.5, early + 1e6))]
    assert [point.seconds for point in points if point] == [0.0, pytest.approx(1e6, rel=1e-3)]


def test_the_clock_begins_when_the_word_came_that_training_starts() -> None:
    reports = Reports("t")
    now = time.monotonic()
    assert reports.point({"started": True}, now + 10.0) is None
    reports.begin()  # the program has said it
    point = reports.point({"loss": 1.0}, now + 13.0)
    assert point
    assert point.seconds == pytest.approx(3.0)
