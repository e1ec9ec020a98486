"""What a Dockerfile says."""

from __future__ import annotations

from pathlib import Path

import pytest

from docker.try_image.dockerfile import instructions, needed, stages, substituted
from sweeper.errors import UsageError

PROJECTS = (Path(__file__).parents[3] / "docker" / "Dockerfile").read_text()
WRITTEN = """
ARG BASE=debian:12.1.0
# a comment
FROM ${BASE} AS first
FROM first AS other
RUN one \\
    # said in between
    && two
FROM first AS last
copy --from=other /a /b
"""


def test_lines_that_go_on_are_one_instruction() -> None:
    assert [(one.word, one.rest) for one in instructions(WRITTEN)] == [
        ("ARG", "BASE=debian:12.1.0"),
        ("FROM", "${BASE} AS first"),
        ("FROM", "first AS other"),
        ("RUN", "one     && two"),
        ("FROM", "first AS last"),
        ("COPY", "--from=other /a /b"),
    ]


def test_arguments_before_all_stages_name_the_bases() -> None:
    assert [(stage.name, stage.base) for stage in stages(WRITTEN, {})] == [
        ("first", "debian:12.1.0"),
        ("other", "first"),
        ("last", "first"),
    ]
    assert stages(WRITTEN, {"BASE": "mine:1.0.0"})[0].base == "mine:1.0.0"
    assert stages(WRITTEN, {"BASE": "mine:1.0.0"})[2].defaults == {"BASE": "mine:1.0.0"}


def test_only_the_stages_that_a_target_stands_on_are_needed() -> None:
    found = stages(WRITTEN, {})
    assert [stage.name for stage in needed(found, "last")] == ["first", "other", "last"]
    assert [stage.name for stage in needed(found, "other")] == ["first", "other"]
    with pytest.raises(UsageError, match="no stage final"):
        needed(found, "final")


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_projects_own_stages_for_each_device(device: str) -> None:
    found = needed(stages(PROJECTS, {"DEVICE": device}), "run")
    assert [stage.name for stage in found] == [f"build-{device}", f"run-{device}", "build", "run"]


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("$A/b", "1/b"),
        ("${A}b", "1b"),
        ("${B:-2}", "2"),
        ("${A:-2}", "1"),
        ("$B", ""),
        ("${EMPTY:-2}", "2"),
        ("a", "a"),
    ],
)
def test_variables_are_filled_in(text: str, filled: str) -> None:
    assert substituted(text, {"A": "1", "EMPTY": ""}) == filled
