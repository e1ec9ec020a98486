"""Which layout a log is taken for."""

from __future__ import annotations

import pytest

from sweeper.interchange.logs.base import Keys, Line, LogOptions
from sweeper.interchange.logs.recognition import recognize
from tests.sweeper.interchange.logs.test_readers import WRITERS, lines_of

POINTS = [(1, 0.25, 2.5), (2, 0.5, 2.0), (3, 0.75, 1.5)]
NUMBERS = ["0.25 2.5", "0.5 2.0"]


def recognized(lines: list[Line], keys: Keys | None = None) -> str | None:
    reader = recognize(lines, LogOptions(keys or Keys()))
    return reader.name if reader else None


@pytest.mark.parametrize("name", WRITERS)
def test_each_layout_is_known_by_its_content(name: str) -> None:
    assert recognized(lines_of(WRITERS[name](POINTS))) == name


@pytest.mark.parametrize("name", WRITERS)
def test_words_around_the_data_do_not_matter(name: str) -> None:
    written = ["Loading data, please wait", "lr = 0.1", *WRITERS[name](POINTS), "Avg iter time = 0.003 seconds"]
    assert recognized(lines_of(written)) == name


def test_a_long_preamble_of_another_layout_does_not_matter() -> None:
    assert recognized(lines_of([*[f"setting {i} = {i}" for i in range(500)], *NUMBERS])) == "columns"


def test_prose_above_two_columns_is_no_header() -> None:
    assert recognized(lines_of(["loss over time", *NUMBERS])) == "columns"


def test_two_columns_below_a_header_are_read_by_their_names() -> None:
    assert recognized(lines_of(["loss,seconds", "2.5,0.25"])) == "csv"
    assert recognized(lines_of(["loss seconds", "2.5 0.25"])) == "csv"


def test_two_columns_below_unknown_names_are_not_taken_for_seconds_and_loss() -> None:
    assert recognized(lines_of(["error,hours", "2.5,0.25", "the end = 1"])) == "csv"


def test_names_that_are_not_known_still_show_the_layout() -> None:
    assert recognized(lines_of(['{"error": 1}'])) == "jsonl"
    assert recognized(lines_of(["error = 1"])) == "key-value"
    assert recognized(lines_of(["a,b,c", "1,2,3"])) == "csv"


def test_a_chosen_key_decides() -> None:
    assert recognized(lines_of(["a,b", "1,2"]), Keys(seconds="a", loss="b")) == "csv"


def test_words_have_no_layout() -> None:
    assert recognized(lines_of(["hello", "world"])) is None
    assert recognized([]) is None
