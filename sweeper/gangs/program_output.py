"""What a program prints, as it comes: its reports and its ranks' words to us, wherever they stand, and the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.rank import KEY as RANK_KEY
from sweeper.reporting import KEY

_LONGEST = 256 * 1024  # characters that are kept of a line which does not end
_LONGEST_REPORT = 16 * 1024
_MOST_TRIED = 4
_SHOWN = 100  # characters of what cannot be read
_LINE_END = re.compile(r"[\r\n]")
# Colours and cursor movements, the titles of windows, and escapes of a single letter.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
# Also in Python's quotes, and in a string of another JSON text: such a report is not read, but counted.
_MARK = re.compile(rf"""\\*["']({re.escape(RANK_KEY)}|{re.escape(KEY)})\\*["']\s*:\s*""")
# As C prints what is not finite.
_NOT_FINITE = re.compile(r"""(?<=[:\s])([-+]?)(?:(nan)(?:\([^()]*\))?|inf(?:inity)?)(?=\s*[,}])""", re.IGNORECASE)
_DECODER = json.JSONDecoder()
_FIELDS = {"loss", "step", "images", "seconds", "started"}  # of which a report has some


@dataclass(frozen=True)
class Said:
    """A JSON object that is for us, by its key: a report of the program, or a rank's word on its program."""

    key: str
    content: dict[str, Any]
    text: str


@dataclass(frozen=True)
class Unread:
    """What looks like a report and cannot be read."""

    text: str


@dataclass(frozen=True)
class Words:
    """All else that the program has printed, for its log: a line, or a part of one."""

    text: str


Item: TypeAlias = Said | Unread | Words


class ProgramOutput:
    """Reads a program's output in pieces of any size.

    A report is told once it is whole, also where its line has not ended. Of a line that does not end, no more than
    `_LONGEST` characters are kept.
    """

    def __init__(self) -> None:
        self._unended = ""

    def feed(self, piece: str) -> Iterator[Item]:
        """What is known by now, in its order."""
        *lines, self._unended = _LINE_END.split(self._unended + piece)
        for line in lines:
            yield from _items(line)
        if "}" in piece and (end := _last_report(self._unended)):
            whole, self._unended = self._unended[:end], self._unended[end:]
            yield from _items(whole)
        if len(self._unended) > _LONGEST:
            yield from self._shortened()

    def end(self) -> Iterator[Item]:
        """What is left when the output has ended."""
        last, self._unended = self._unended, ""
        yield from _items(last)

    def _shortened(self) -> Iterator[Item]:
        """The beginning of a line that is too long; a report that has just begun at its end stays whole."""
        recent = len(self._unended) - _LONGEST_REPORT
        mark = _MARK.search(self._unended, recent)
        cut = _read(self._unended, mark)[0] if mark else len(self._unended)
        long, self._unended = self._unended[:cut], self._unended[cut:]
        yield from _items(long)


def _items(line: str) -> Iterator[Item]:
    if not _may_hold_one(line):
        if line.strip():
            yield Words(line)
        return
    line = _plain(line)
    told = at = 0  # up to where the line is told, and where the next mark is looked for
    while mark := _MARK.search(line, at):
        begin, end, said = _read(line, mark)
        if words := line[told:begin].strip():
            yield Words(words)
        if said:
            yield said
        else:
            end = begin  # it stays in the log
            if line[begin] == "{" or line[mark.end() : mark.end() + 1] == "{":
                yield Unread(line[begin : begin + _SHOWN])
        told, at = end, max(end, mark.end())
    if words := line[told:].strip():
        yield Words(words)


def _last_report(unended: str) -> int:
    """Where the last whole report of an unended line ends; 0 where it has none that can be read by now."""
    if not _may_hold_one(unended):
        return 0
    marks = list(_MARK.finditer(unended, max(0, len(unended) - _LONGEST_REPORT)))
    read = (_read(unended, mark) for mark in reversed(marks[-_MOST_TRIED:]))  # others when the line ends
    return next((end for _, end, said in read if said), 0)


def _may_hold_one(line: str) -> bool:
    return KEY in line


def without_escapes(line: str) -> str:
    """Without colours and movements of the cursor."""
    return _ESCAPES.sub("", line)


def _plain(line: str) -> str:
    """Without escapes, and with what is not finite as Python reads it in JSON."""
    return _NOT_FINITE.sub(lambda found: _as_json(found[1], found[2]), without_escapes(line))


def _as_json(sign: str, nan: str | None) -> str:
    return "NaN" if nan else f"{sign.replace('+', '')}Infinity"


def _read(line: str, mark: re.Match[str]) -> tuple[int, int, Said | None]:
    """Begin and end of the object that a mark is in, and the object; None where it cannot be read."""
    before = mark.start()
    while before and line[before - 1].isspace():
        before -= 1
    opened = line[before - 1 : before] == "{"
    begin = before - 1 if opened else mark.start()
    try:
        whole, end = _DECODER.raw_decode(line, begin if opened else mark.end())
    except (ValueError, RecursionError):
        return begin, mark.end(), None
    content = whole.get(KEY) if opened and mark[1] == KEY else whole
    known = isinstance(content, dict) and (mark[1] == RANK_KEY or bool(content.keys() & _FIELDS))
    return begin, end, Said(mark[1], content, line[begin:end]) if known else None
