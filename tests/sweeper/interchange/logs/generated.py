"""Logs as other programs write them, made at random, with the curve that each of them holds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal

from hypothesis import strategies as st

Point = tuple[int, Decimal | None, float]  # step, seconds since the log's own zero, loss
BEGIN = datetime(2024, 2, 28, 23, 59, 30)
CLOCK = 1_700_000_000


@dataclass(frozen=True)
class Told:
    """One line's worth of a curve: what it says of a step, and the point that it should become."""

    step: int
    written: str | int | float | None  # the time
    loss: str | float
    point: Point


@dataclass
class GeneratedLog:
    """A file, its curve, which line each point stands in, and whether it must be read rather than refused."""

    data: bytes
    points: list[Point]
    lines: dict[int, Point] = field(default_factory=dict)
    must_be_read: bool = True
    replaces: bool = False
    what: str = ""


@dataclass(frozen=True)
class Times:
    """A way to write times: `write` gives the text of some seconds, `zero` what a reader takes for their beginning."""

    name: str
    write: Callable[[Decimal], str | int | float]
    digits: int  # behind the decimal mark that it can hold
    absolute: bool = False
    per_step: bool = False


def _clock(seconds: Decimal) -> str:
    hours, rest = divmod(int(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}"


def _minutes(seconds: Decimal) -> str:
    return f"{int(seconds) // 60:02}:{int(seconds) % 60:02}"


def _amount(seconds: Decimal) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}m{rest}s" if minutes else f"{rest}s"


def _date(sep: str, mark: str) -> Callable[[Decimal], str]:
    def write(seconds: Decimal) -> str:
        moment = BEGIN + timedelta(microseconds=int(seconds * 1_000_000))
        return f"{moment:%Y-%m-%d{sep}%H:%M:%S}{mark}{moment.microsecond // 1000:03}"

    return write


TIMES = [
    Times("seconds", float, 3),
    Times("milliseconds since 1970", lambda s: int((s + CLOCK) * 1000), 3, absolute=True),
    Times("microseconds since 1970", lambda s: int((s + CLOCK) * 1_000_000), 3, absolute=True),
    Times("seconds since 1970", lambda s: float(s + CLOCK), 3, absolute=True),
    Times("date", _date("T", "."), 3, absolute=True),
    Times("date with a blank", _date(" ", ","), 3, absolute=True),
    Times("clock", _clock, 0),
    Times("minutes", _minutes, 0),
    Times("amount", _amount, 3),
    Times("seconds with unit", lambda s: f"{s}s", 3),
    Times("seconds of each step", float, 3, per_step=True),
]


@st.composite
def curves(draw: st.DrawFn, times: Times | None) -> list[Told]:
    """A curve without resumes, of steps that rise evenly."""
    count = draw(st.integers(2, 12))
    stride = draw(st.sampled_from([1, 1, 10, 50])) if times is None or not times.per_step else 1
    first = draw(st.sampled_from([0, 1])) if stride == 1 else stride
    losses = draw(st.lists(st.integers(1, 9_999_999), min_size=count, max_size=count))
    unit = Decimal(1).scaleb(-(times.digits if times else 0))
    usual = draw(st.integers(1, 90_000)) * unit
    if times and times.per_step:
        usual = max(usual, Decimal("0.5"))
    found, seconds = [], Decimal(0)
    for index, millionths in enumerate(losses):
        jitter = draw(st.integers(-10, 10)) * unit if times and times.per_step and usual > 40 * unit else 0
        step, took = first + stride * index, usual + jitter
        seconds += took
        loss = millionths / 1_000_000
        written = None if times is None else times.write(took if times.per_step else seconds)
        found.append(Told(step, written, loss, (step, None if times is None else seconds, loss)))
    return found


def write_csv(rows: list[Told], timed: bool, mark: str) -> tuple[str, list[str]]:
    """A header, and a line a row."""
    separator = ";" if mark == "," else ","
    names = ["step", *(["time"] if timed else []), "loss", "lr"]
    lines = [
        _joined(
            separator,
            [str(row.step), *([_text(row.written, mark)] if timed else []), _text(row.loss, mark), "0" + mark + "25"],
        )
        for row in rows
    ]
    return separator.join(names), lines


def _joined(separator: str, fields: list[str]) -> str:
    return separator.join(f'"{one}"' if separator in one else one for one in fields)


def write_json(rows: list[Told], timed: bool, mark: str) -> tuple[str, list[str]]:  # noqa: ARG001
    """An object a line."""
    return "", [
        json.dumps({"step": row.step, **({"time": row.written} if timed else {}), "loss": row.loss, "val_loss": 9.0})
        for row in rows
    ]


def write_python(rows: list[Told], timed: bool, mark: str) -> tuple[str, list[str]]:  # noqa: ARG001
    """A printed dictionary a line."""
    return "", [
        repr({"loss": row.loss, **({"time": row.written} if timed else {}), "step": row.step, "eval": float("nan")})
        for row in rows
    ]


def write_pairs(sign: str, between: str) -> Callable[[list[Told], bool, str], tuple[str, list[str]]]:
    """Pairs of keys and values."""

    def write(rows: list[Told], timed: bool, mark: str) -> tuple[str, list[str]]:
        return "", [
            between.join(
                [
                    f"step{sign}{row.step}",
                    *([f"time{sign}{_text(row.written, mark)}"] if timed else []),
                    f"train loss{sign}{_text(row.loss, mark)}",
                    f"lr{sign}0{mark}25",
                ]
            )
            for row in rows
        ]

    return write


FORMATS = {
    "csv": write_csv,
    "json": write_json,
    "python": write_python,
    "key=value, ": write_pairs("=", ", "),
    "key = value; ": write_pairs(" = ", "; "),
    "key: value | ": write_pairs(": ", " | "),
    "key: value": write_pairs(": ", "  "),
}


def _text(value: object, mark: str) -> str:
    return str(value) if re.search(r"\d[-:]\d", str(value)) else str(value).replace(".", mark)


@st.composite
def logs(draw: st.DrawFn) -> GeneratedLog:
    """A log of any format, time, resume and damage."""
    times = draw(st.sampled_from([None, *TIMES]))
    name = draw(st.sampled_from(sorted(FORMATS)))
    mark = draw(st.sampled_from([".", ".", ","])) if name not in ("json", "python") else "."
    rows = draw(curves(times))
    rises = [row.written for row in rows] == sorted((row.written for row in rows), key=str)
    rows, expected, begins, resumed = draw(resumes(rows, times))
    header, lines = FORMATS[name](rows, times is not None, mark)
    made: list[str] = [header] if header else []
    at: dict[int, Point] = {}
    noise = draw(st.booleans())
    for index, line in enumerate(lines):
        if index in begins and header:
            made.append(header)
        if noise and index == 1:
            made.append("Saving the model ...")
        made.append(line)
        at[len(made)] = rows[index].point
    what = f"{name}, {times.name if times else 'no times'}, {resumed}, {mark}"
    log = GeneratedLog("\n".join([*made, ""]).encode(), expected, at, what=what)
    log.replaces = resumed == "twice" or any(row.point[0] < 0 for row in rows)
    shown = mark == "." or any(len(str(row.loss).partition(".")[2]) != 3 and "e" not in str(row.loss) for row in rows)
    rises = rises or (resumed == "newest first" and len(rows) < 3)
    log.must_be_read = shown and resumed != "twice" and not (times is not None and times.per_step and rises)
    return draw(damage(log, made))


@st.composite
def resumes(draw: st.DrawFn, rows: list[Told], times: Times | None) -> tuple[list[Told], list[Point], set[int], str]:
    """The rows as a run that was resumed, or otherwise out of the usual order, writes them; its curve; its parts."""
    kinds = ["none", "none", "newest first", "written twice"]
    if len(rows) > 5:
        kinds += (
            ["appended", "appended with a new clock", "twice"]
            if times and not times.absolute
            else ["appended", "twice"]
        )
    kind = draw(st.sampled_from(kinds))
    expected = [row.point for row in rows]
    if kind == "newest first":
        return rows[::-1], expected, set(), kind
    if kind == "written twice":
        return [*rows, *rows], expected, {len(rows)}, kind
    if kind == "none":
        return rows, expected, set(), kind
    if kind == "twice":
        other = [
            replace(row, loss=float(row.loss) + 1, point=(row.step, row.point[1], float(row.loss) + 1)) for row in rows
        ]
        return [*rows, *other], [], {len(rows)}, kind
    cut = draw(st.integers(2, len(rows) - 2))
    again = draw(st.integers(0, min(2, cut - 1)))
    lost = [replace(row, loss=float(row.loss) + 1, point=(-1, None, 0.0)) for row in rows[cut - again : cut]]
    later = rows[cut - again :]
    if times and kind == "appended with a new clock" and not times.per_step:
        zero = rows[cut - again - 1].point[1] or Decimal(0)
        later = [replace(row, written=times.write((row.point[1] or zero) - zero)) for row in later]
    elif times and again and not times.per_step:
        shift = (rows[cut - 1].point[1] or Decimal(0)) - (rows[cut - again - 1].point[1] or Decimal(0))
        later = [replace(row, written=times.write((row.point[1] or Decimal(0)) + shift)) for row in later]
    return [*rows[: cut - again], *lost, *later], expected, {cut}, kind


@st.composite
def damage(draw: st.DrawFn, log: GeneratedLog, lines: list[str]) -> GeneratedLog:
    """The log whole, cut off at any byte, or with a line that was garbled."""
    kinds = ["whole", "whole", "carriage returns"]
    if not log.replaces:  # else a line of an earlier session may rightly stand for one that was lost
        kinds += ["cut", "no line end"]
        kinds += ["garbled"] if len(log.lines) > 3 else []  # what is usual shows in a few lines only
    kind = draw(st.sampled_from(kinds))
    log.what += f", {kind}"
    if kind == "carriage returns":
        log.data = log.data.replace(b"\n", b"\r\n")
    if kind == "no line end":
        log.data = log.data.removesuffix(b"\n")
    if kind == "cut":
        log.data = log.data[: draw(st.integers(1, len(log.data)))]
    if kind == "garbled":
        number = draw(st.sampled_from(sorted(log.lines)))
        text = lines[number - 1]
        place = draw(st.integers(1, len(text) - 1))  # a mark at the beginning makes a comment
        lines[number - 1] = (
            text[:place] + draw(st.sampled_from(["#", "�", " ", "", "x"]))
            if draw(st.booleans())
            else text[:place] + "#" + text[place + 1 :]
        )
        log.data = "\n".join([*lines, ""]).encode()
    log.must_be_read = log.must_be_read and kind in ("whole", "carriage returns")
    return log
