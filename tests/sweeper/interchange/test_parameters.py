"""Parameters of imported trials, from assignments and from file names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.errors import SpecError
from sweeper.interchange.parameters import named_parameters

PATTERN = r"(?P<learning_rate>[\d.]+)_lr_(?P<batch_size>\d+)_batch_size_(?P<workers>\d+)w"


def parameters(
    *assignments: str, name: str = "0.5_lr_128_batch_size_2w.txt", pattern: str | None = None
) -> dict[str, Any]:
    return named_parameters([str(Path("logs") / name)], [name], assignments, pattern)[0]


def problems(*assignments: str, name: str = "run.txt", pattern: str | None = None) -> list[str]:
    with pytest.raises(SpecError) as caught:
        parameters(*assignments, name=name, pattern=pattern)
    return caught.value.problems


def test_workers_are_one_by_default() -> None:
    assert parameters() == {"workers": 1}


def test_assignments_are_yaml() -> None:
    found = parameters("batch_size=128", "learning_rate=1e-3", "model=alexnet-cifar", "nesterov=true", "workers=4.0")
    assert found == {
        "workers": 4,
        "batch_size": 128,
        "learning_rate": 0.001,
        "model": "alexnet-cifar",
        "nesterov": True,
    }
    assert isinstance(found["workers"], int)


def test_dotted_names_of_the_spec_are_known() -> None:
    assert parameters("exchange.method=parameter-server")["exchange.method"] == "parameter-server"


@given(
    rate=st.floats(1e-3, 10).map(lambda value: round(value, 3)), size=st.integers(1, 4096), workers=st.integers(1, 64)
)
def test_names_of_files_give_numbers(rate: float, size: int, workers: int) -> None:
    name = f"{rate}_lr_{size}_batch_size_{workers}w.txt"
    found = parameters(name=name, pattern=PATTERN)
    assert found == {"workers": workers, "learning_rate": rate, "batch_size": size}
    assert next(iter(found)) == "workers"


def test_an_assignment_goes_before_the_name() -> None:
    assert parameters("workers=8", pattern=PATTERN)["workers"] == 8


def test_names_give_texts_where_they_are_no_numbers_and_nothing_where_they_do_not_say() -> None:
    found = parameters(name="adam-1_000.txt", pattern=r"(?P<optimizer>[a-z]+)-(?P<tag>\w+)(?P<rest>x)?\.")
    assert found == {"workers": 1, "optimizer": "adam", "tag": "1_000"}


@pytest.mark.parametrize(
    ("assignment", "word"),
    [
        ("workers=0", "at least 1"),
        ("workers=1.5", "whole"),
        ("workers=two", "whole"),
        ("workers=true", "whole"),
        ("workers=99999999999999999999", "whole"),
        ("batch_size=0", "at least 1"),
        ("global_batch_size=-1", "at least 1"),
        ("learning_rate=0", "above 0"),
        ("learning_rate=fast", "above 0"),
        ("momentum=.nan", "finite"),
        ("momentum=", "finite"),
        ("momentum=[0, 0.9]", "finite"),
        ("started=2024-01-01", "quotes"),
        ("exchange.methods=a", "exchange.method?"),
        ("a b=1", "letters"),
        ("batch_size", "no assignment"),
        ("x={", "correct the YAML"),
    ],
)
def test_wrong_assignments_are_one_clear_line(assignment: str, word: str) -> None:
    (line,) = problems(assignment)
    assert line.startswith("--set")
    assert word in line


def test_all_wrong_assignments_are_told_at_once() -> None:
    assert len(problems("workers=0", "learning_rate=-1", "batch_size=64")) == 2


def test_a_wrong_value_in_a_name_says_so() -> None:
    (line,) = problems(name="lr0.5.txt", pattern=r"lr(?P<learning_rate>[\d.]+)")
    assert "lr0.5.txt" in line
    assert "'0.5.'" in line


def test_a_name_that_does_not_match_is_told_with_the_pattern() -> None:
    (line,) = problems(pattern=PATTERN)
    assert "run.txt" in line
    assert PATTERN in line.replace("\\\\", "\\")


@pytest.mark.parametrize(("pattern", "word"), [("(", "no regular expression"), (r"\d+", "no named group")])
def test_a_bad_pattern_is_one_clear_line(pattern: str, word: str) -> None:
    (line,) = problems(pattern=pattern)
    assert line.startswith("--pattern")
    assert word in line
