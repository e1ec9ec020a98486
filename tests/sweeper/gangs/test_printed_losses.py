"""Losses in a program's own lines, by the patterns of a spec."""

from __future__ import annotations

import pytest

from sweeper.gangs.printed_losses import PrintedLosses
from sweeper.spec.command import ReportPatterns

LOSS, STEP = r"loss[=: ]+(\S+)", r"step (\S+)"


def reports(lines: list[str], **patterns: str) -> list[dict[str, str]]:
    printed = PrintedLosses(ReportPatterns(loss=LOSS, **patterns))
    return [found for line in lines if (found := printed.report(line))]


def test_a_line_with_a_loss_is_a_report() -> None:
    assert reports(["epoch 1", "train loss: 2.5 lr 0.1", "loss=nan"]) == [{"loss": "2.5"}, {"loss": "nan"}]


def test_a_step_holds_until_the_next_one_wherever_it_stands() -> None:
    lines = ["step 10 of 30", "loss 2.0", "validation loss 2.2", "step 20: loss 1.5"]
    assert reports(lines, step=STEP) == [{"loss": "2.0", "step": "10"}, {"loss": "1.5", "step": "20"}]


def test_losses_before_the_first_step_are_passed_over() -> None:
    lines = ["loss 2.3", "step 1", "loss 2.0"]
    assert reports(lines, step=STEP) == [{"loss": "2.0", "step": "1"}]
    printed = PrintedLosses(ReportPatterns(loss=LOSS, step=r"iteration(?: (\d+))?"))
    assert [printed.report(line) for line in (*lines, "iteration: loss 1.0")] == [None] * 4
    assert [*printed.unmatched] == ["step"]


def test_what_is_drawn_again_is_one_report() -> None:
    bar = ["3/9 loss 1.0", "3/9 loss 1.0", "4/9 loss 0.9"]
    assert reports(bar, step=r"(\d+)/") == [{"loss": "1.0", "step": "3"}, {"loss": "0.9", "step": "4"}]


def test_counts_may_have_separators() -> None:
    assert reports(["seen 12,800 loss 1.0"], images=r"seen ([\d,]+)") == [{"loss": "1.0", "images": "12800"}]


@pytest.mark.parametrize(("text", "loss"), [("1.5,", "1.5"), ("1e-3", "1e-3"), ("inf", "inf"), ("1,234.5;", "1234.5")])
def test_of_a_loss_all_but_the_number_is_left_out(text: str, loss: str) -> None:
    assert reports([f"loss={text}"]) == [{"loss": loss}]
