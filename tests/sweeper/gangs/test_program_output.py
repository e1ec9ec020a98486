"""Reports among all else that programs print: each is read exactly, or counted as unread."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.gangs.program_output import Item, ProgramOutput, Said, Unread, Words

LONG = 2_000_000


def read(*pieces: str) -> list[Item]:
    output = ProgramOutput()
    return [*(item for piece in pieces for item in output.feed(piece)), *output.end()]


def reports(items: Iterable[Item]) -> list[object]:
    return [item.content for item in items if isinstance(item, Said)]


def unread(items: Iterable[Item]) -> list[str]:
    return [item.text for item in items if isinstance(item, Unread)]


BAR = "\r 43%|####      | 3/7 [00:01<00:02,  1.60it/s]"
REPORT = '{"sweeper": {"loss": 0.5, "step": 3}}'
CONTENT = {"loss": 0.5, "step": 3}


@pytest.mark.parametrize(
    "text",
    [
        REPORT + "\n",
        REPORT,  # at the end of the output
        REPORT + "\r",
        REPORT + "\r\n",
        BAR + REPORT + BAR,
        f"\x1b[32m{REPORT}\x1b[0m\n",
        '\x1b[1m{\x1b[0m"sweeper"\x1b[1m:\x1b[0m \x1b[1m{\x1b[0m"loss": \x1b[36m0.5\x1b[0m, "step": 3}\x1b[2K}\n',
        f"\x1b]0;training\x07{REPORT}\x1b[K\n",
        f"2026-01-02 03:04:05,678 [INFO] train: {REPORT}\n",
        f"[1,0]<stdout>:{REPORT}\n",
        f"{REPORT} in 3 s}}\n",
        f"{{{REPORT}\n",
        '{ "sweeper" : {"step":3,"loss":0.5} }\n',
        '{"time": 1.5, "sweeper": {"loss": 0.5, "step": 3}, "rank": 0}\n',
        '{"sweeper": {"loss": 0.5, "step": 3}, "time": 1.5}\n',
        f"loss\b\b\b\b{REPORT}\n",
    ],
)
def test_a_report_is_read_wherever_it_stands(text: str) -> None:
    for pieces in ([text], list(text)):
        items = read(*pieces)
        assert (reports(items), unread(items)) == ([CONTENT], [])


def test_several_in_one_line_are_all_read_and_the_rest_is_for_the_log() -> None:
    items = read(f"a {REPORT}{REPORT} b\rc {REPORT}\n", "d")
    assert [item.text for item in items] == ["a", REPORT, REPORT, "b", "c", REPORT, "d"]


@pytest.mark.parametrize(
    "text",
    [
        '{"sweeper": {"loss": 0.5, "st\n',
        '{"sweeper": {"loss": 0.5}\n',
        '{"sweeper": {"loss": 0,5}}\n',
        '{"sweeper": 0.5}\n',
        '{"sweeper": [0.5]}\n',
        '{"sweeper": {"los": 0.5}}\n',
        "{'sweeper': {'loss': 0.5}}\n",
        '{"message": "{\\"sweeper\\": {\\"loss\\": 0.5}}"}\n',
        '{\n  "sweeper": {\n    "loss": 0.5\n  }\n}\n',
        f'{{"sweeper": {{"step": {"9" * 5000}}}}}\n',
        '{"sweeper": {"loss": ' + "[" * 100_000 + "\n",
    ],
)
def test_what_only_looks_like_a_report_is_counted_and_stays_in_the_log(text: str) -> None:
    for pieces in ([text], list(text) if len(text) < 1000 else [text]):
        items = read(*pieces, REPORT)
        assert (reports(items), len(unread(items))) == ([CONTENT], 1)
        log = "".join(item.text for item in items if isinstance(item, Words))
        assert [word in log for word in text.split()] == [True] * len(text.split())


def test_what_two_ranks_write_at_once_is_read_or_counted() -> None:
    items = read('{"sweeper": {"loss": 0.{"sweeper": {"loss": 0.5, "step": 3}}7}}\n{"sweeper-rank":1,"code":0}\n')
    assert reports(items) == [CONTENT, {"sweeper-rank": 1, "code": 0}]
    assert len(unread(items)) == 1


@pytest.mark.parametrize("text", ['"sweeper": "a tool"', "sweeper", '{"name": "sweeper"}', '{"swept": {"loss": 1}}'])
def test_other_words_are_no_reports(text: str) -> None:
    assert read(text) == [Words(text)]


@pytest.mark.parametrize(
    ("written", "loss"), [("nan", "nan"), ("-nan", "nan"), ("NaN", "nan"), ("inf", "inf"), ("-Infinity", "-inf")]
)
def test_losses_that_are_not_finite_are_read_as_any_language_writes_them(written: str, loss: str) -> None:
    (content,) = reports(read(f'{{"sweeper": {{"loss": {written}}}}}\n'))
    assert isinstance(content, dict)
    assert str(content["loss"]) == loss


def test_a_report_is_told_before_its_line_ends() -> None:
    output = ProgramOutput()
    assert reports(output.feed(BAR + REPORT)) == [CONTENT]
    assert reports(output.feed(BAR[:20])) == []


def test_a_line_that_never_ends_does_not_fill_the_memory_and_its_reports_are_read() -> None:
    output = ProgramOutput()
    for _ in range(LONG // 10_000):
        items = [*output.feed("." * 9_990), *output.feed(REPORT[:10]), *output.feed(REPORT[10:])]
        assert reports(items) == [CONTENT]
        assert len(output._unended) < 300_000
    for _ in range(LONG // 10_000):
        list(output.feed("." * 10_000))
        assert len(output._unended) < 300_000
    assert len(unread(read('{"sweeper": {"loss": "', *["x" * 10_000] * 50))) == 1


_NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
_REPORTS = st.fixed_dictionaries(
    {"loss": _NUMBERS}, optional={"step": st.integers(0, 2**53), "images": st.integers(0, 2**53), "seconds": _NUMBERS}
)
_COLOURS = st.sampled_from(["", "\x1b[32m", "\x1b[1;31m", "\x1b[2K\x1b[1G", "\x1b[38;2;1;2;3m"])
_PREFIXES = st.sampled_from(
    ["", BAR, "\r", "[1,0]<stdout>:", "2026-01-02T03:04:05Z INFO ", "[rank0]: ", "0: ", "INFO:root:", "{", "} ", "\b\b"]
)
_SUFFIXES = st.sampled_from(["\n", "\r", "\r\n", BAR, " (3.2 it/s)\n", "", " ", ", next: ", "}\n"])
_BROKEN = st.sampled_from(['{"sweeper": {"loss": 0.', '{"sweeper": {"loss": 1]', '{"sweeper": {"loss": 0,5}}'])


@given(
    st.lists(st.tuples(_PREFIXES, _COLOURS, st.one_of(_REPORTS, _BROKEN), _COLOURS, _SUFFIXES), max_size=8),
    st.lists(st.integers(1, 40), max_size=30),
)
def test_every_report_is_read_exactly_or_counted(
    written: list[tuple[str, str, dict[str, object] | str, str, str]], sizes: list[int]
) -> None:
    text = ""
    for before, colour, report, end, after in written:
        text += before + colour + (report if isinstance(report, str) else json.dumps({"sweeper": report})) + end + after
    pieces = []
    for size in sizes:
        pieces.append(text[:size])
        text = text[size:]
    items = read(*pieces, text)
    assert reports(items) == [report for _, _, report, _, _ in written if isinstance(report, dict)]
    assert len(unread(items)) == sum(isinstance(report, str) for _, _, report, _, _ in written)
