"""Tables that fit a width."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from sweeper.text_table import fit_table, shorten

TEXT = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "So"]), max_size=40)


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("short", 5, "short"),
        ("longer", 5, "long…"),
        ("日本語", 5, "日本…"),
        ("日本語", 6, "日本語"),
        ("日本語", 4, "日…"),
        ("🚀🚀🚀", 5, "🚀🚀…"),
        ("a b c", 3, "a…"),
        ("0.00012345", 5, "0.00012345"),
        ("1.2e-05", 3, "1.2e-05"),
        ("≥ 0.97000", 5, "≥ 0.97000"),
    ],
)
def test_words_are_shortened_by_their_cells_and_numbers_never(text: str, width: int, shown: str) -> None:
    assert shorten(text, width) == shown


def test_columns_are_left_out_in_their_order() -> None:
    headers, rows = (
        ["name", "same", "area", "more", "rest"],
        [["a", "1", "0.5", "2", "3"], ["b", "1", "0.25", "3", "4"]],
    )
    widths = {30: [], 24: [], 19: ["rest"], 14: ["same", "rest"], 13: ["same", "more", "rest"]}
    for width, left_out in widths.items():
        table = fit_table(headers, rows, width, left=["name"], spare=["rest"], keep=["name", "area"])
        assert table.left_out == left_out
        assert table.lines[1].split()[:1] == ["b"]
        assert "0.25" in table.lines[1]


def test_headers_take_the_lines_that_their_words_need() -> None:
    table = fit_table(["batch_size", "exchange.method", "predicted winner"], [["64", "ring", "1"]], 80)
    assert table.header == ["batch  exchange.  predicted", " size     method     winner"]
    assert table.lines == ["   64       ring          1"]
    assert fit_table(["batch_size"], [["64"]], None).header == ["batch size"]


@given(st.lists(st.lists(TEXT, min_size=4, max_size=4), min_size=1, max_size=5), st.integers(20, 100))
def test_no_line_is_wider_than_it_may_be(rows: list[list[str]], width: int) -> None:
    numbers = [[*row, str(index * 1.5)] for index, row in enumerate(rows)]
    headers = ["a", "b", "c", "d", "number"]
    table = fit_table(headers, numbers, width, words=headers[:4], keep=["number"], lengths=(8, 60))
    one = max(cell_len(shorten(cell, 8)) for row in rows for cell in row)
    if one <= 8:  # numbers stay whole, however long
        assert all(cell_len(line) <= width for line in [*table.header, *table.lines])
    assert all(line.endswith(row[-1]) for line, row in zip(table.lines, numbers, strict=True))
