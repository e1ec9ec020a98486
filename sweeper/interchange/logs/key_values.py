"""Logs of `key = value` or `key: value` pairs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sweeper.interchange.logs.base import Entry, Keys, Line, Table
from sweeper.interchange.logs.column_names import is_of_evaluation
from sweeper.interchange.logs.rows import STEPS_OF_EPOCH
from sweeper.interchange.numbers import UNCLEAR

LINE_TIME = "timestamp"  # what a line begins with, where it is a date
_DATE = r"\d{4}[-/]\d{2}[-/]\d{2}[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?"
_AMOUNT = r"[+-]?(?:\d+(?:[.,'’]\d+)*\.?|[.,]\d+)(?:[eE][+-]?\d+)?"
_UNIT = r"(?:h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?|ms|us|µs|ns)"
_AFTER_COMMA = r"[\sA-Za-z_\"'\[({]|$"
_END = rf"(?=[\s;|)\]}}]|,(?={_AFTER_COMMA})|$)"  # of a value: a comma within a number does not end it
_VALUE = re.compile(
    rf"""\s*(?:(?P<quoted>"[^"]*"|'[^']*')|(?P<bare>{_DATE}{_END}
    |(?:\d+\ days?,\ )?\d+:\d{{2}}(?::\d{{2}})?(?:[.,]\d+)?{_END}
    |{_AMOUNT}(?:\ ?{_UNIT}\ ?{_AMOUNT})*(?:\ ?{_UNIT}(?:/\w+)?(?!\s*[=:]))?{_END}
    |(?:\d{{4}}[-/]\d{{2}}[-/]\d{{2}}\ (?=\d))?[^\s,;|]+(?:,(?!{_AFTER_COMMA})[^\s,;|]+)*))""",
    re.VERBOSE,
)
_SIGN = re.compile(r"=|:(?!:)")
_BEFORE_KEY = re.compile(r"(?:.*(?:[,;|\t\])}>:]|\s-\s))?")
_BROKEN_OBJECT = re.compile(r"\s*\{\s*['\"][^}]*$")
_LEADING_DATE = re.compile(rf"\s*\[?\s*({_DATE})")
# `Epoch [1/10]`, `Step [100/600]`, `Iteration 100,`, and `Epoch: [0][ 50/5005]`, whose second number is the step.
_COUNT = re.compile(
    r"\b(?P<name>epoch|step|iteration|iter)\s*(?:[\[(#]|:\s*\[)?\s*(?P<number>\d+)(?:\s*/\s*(?P<of>\d+))?(?=[\s,;:|)\]]|$)"
    r"(?:\]\s*\[\s*(?P<step>\d+)\s*/\s*(?P<epoch_of>\d+)\])?",
    re.IGNORECASE,
)
# `loss 2.3026` without a sign between the two.
_WORDS = re.compile(
    rf"(?<![\w/-])(?P<key>(?:[A-Za-z]+[ _])?loss|time|elapsed)\s+(?P<value>{_AMOUNT}(?:\ ?{_UNIT})?){_END}",
    re.IGNORECASE,
)
_MORE_DIGITS = re.compile(r"(?:[ \u00a0\u2009\u202f]\d{3})+(?:[.,]\d+)?(?=[\s,;|)\]}]|$)")


class KeyValuesReader:
    """`key = value, key: value` a line; keys may have blanks, and all else is passed over.

    A date at the beginning of a line is its `timestamp`. A line that begins with a word for validation or test, such as
    `Validation: loss = 2.3`, is not a row of training.
    """

    name = "key-value"
    layout = "`key = value` or `key: value` pairs a line, such as `time = 0.25, loss = 2.3026`"

    def read(self, lines: Sequence[Line], keys: Keys) -> Table:  # noqa: ARG002 - all names are told
        """The pairs of each line."""
        entries = _cut_short(list(map(_entry, lines)))
        names = dict.fromkeys(name for entry in entries for name in entry.values or ())
        return Table(entries, tuple(names))


def _cut_short(entries: list[Entry]) -> tuple[Entry, ...]:
    """The entries; a line that has only the first pairs of what most lines have may be cut off."""
    shapes = Counter(tuple(entry.values) for entry in entries if entry.values)
    usual = shapes.most_common(1)[0][0] if shapes else ()
    for index, entry in enumerate(entries):
        names = tuple(entry.values or ())
        if names and len(names) < len(usual) and names == usual[: len(names)] and shapes[names] * 2 <= shapes[usual]:
            entries[index] = replace(entry, cut=names[-1])
    return tuple(entries)


def _entry(line: Line) -> Entry:
    text, values = line.text, dict[str, object]()
    date = _LEADING_DATE.match(text)
    if date:
        text = text[date.end() :]
    if _BROKEN_OBJECT.match(text):
        return Entry(line, None, "is an object that breaks off", lost=True)
    pairs = list(_pairs(text))
    for prefix, key, value, _ in pairs:
        if is_of_evaluation(prefix):
            return Entry(line, None, "is of validation or test")
        values.setdefault(key, value)
    counts = dict(_unsigned(text, values))
    values = {key: value for key, value in values.items() if key.lower() not in counts} | counts
    if not values:
        return Entry(line, None, "has no `key = value`")
    if date:
        values.setdefault(LINE_TIME, date[1])
    last, end = (pairs[-1][1], pairs[-1][3]) if pairs else (next(reversed(values)), len(text))
    at_end = not line.ended and not text[end:].strip(" ,.") and text[-1:] not in ("'", '"')
    return Entry(line, values, cut=last if at_end else None)


def _unsigned(text: str, values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Counts, and a loss and a time, that stand behind their names without a sign."""
    known = {key.lower() for key, value in values.items() if not str(value).startswith("[")}
    for count in _COUNT.finditer(text):
        name = count["name"].lower()
        if name not in known:
            yield name, count["number"]
        if count["step"] and "step" not in known:
            yield "step", count["step"]
        if of := count["epoch_of"] or (name != "epoch" and count["of"]):
            yield STEPS_OF_EPOCH, of
    for found in _WORDS.finditer(text):
        if found["key"].lower() not in known:
            yield found["key"].lower(), found["value"]


def _pairs(text: str) -> Iterator[tuple[str, str, str, int]]:
    """What stands before each pair, its key and value, and where it ends."""
    begin = 0
    for sign in _SIGN.finditer(text):
        if sign.start() < begin:
            continue
        prefix, key = _key(text[begin : sign.start()])
        value = _VALUE.match(text, sign.end())
        if not key or value is None:
            continue
        written, begin = value["bare"] or value["quoted"][1:-1], value.end()
        if re.fullmatch(r"[+-]?\d+[.,]\d+\.", written):  # a sentence ends here
            written = written[:-1]
        if text[begin:].strip() == ",":  # a number with a decimal comma may break off here
            written += ","
        # A blank may separate thousands, or two numbers: such a value is not cut, and not read.
        if re.fullmatch(r"[+-]?\d{1,3}", written) and (more := _MORE_DIGITS.match(text, begin)):
            odd = more[0][0] == " " and more[0].count(" ") == 1
            written, begin = f"{written}{more[0]}{UNCLEAR if odd else ''}", more.end()
        yield prefix, key, written.rstrip(")]}"), begin


def _key(text: str) -> tuple[str, str]:
    """What stands before a key, and the key: the words after the last mark that ends something."""
    before, key = _BEFORE_KEY.match(text)[0], _BEFORE_KEY.sub("", text, count=1)  # type: ignore[index]
    key = re.sub(r"^(?:[^A-Za-z_]+\s+)+", "", key).strip(" \t'\"{[(*#-")
    counted = _COUNT.match(key)  # `Epoch 1 loss: 2.3`
    if counted and counted.end() < len(key):
        before, key = before + key[: counted.end()], key[counted.end() :].strip()
    return (before, key) if re.search(r"[^\W\d]", key.rpartition(" ")[2]) else (before, "")
