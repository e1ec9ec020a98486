"""The contract of the log readers, over every one of them and over one that breaks it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.interchange.logs.base import Ignored, Keys, Line, LogOptions, LogReader, Table
from sweeper.interchange.logs.columns import ColumnsReader
from sweeper.interchange.logs.recognition import FORMATS, READERS
from sweeper.interchange.logs.rows import Reading, Row, rows_of

Point = tuple[int, float, float]

POINTS = st.lists(
    st.tuples(
        st.integers(0, 2**53),
        st.floats(allow_nan=False, allow_infinity=False),
        st.floats(allow_nan=True, allow_infinity=True),
    ),
    min_size=1,
    max_size=20,
)
# What a line may hold: any text without a line's end, the halves of words and numbers that logs are made of among it.
TEXTS = st.lists(
    st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=30)
    | st.text(alphabet='0123456789.,;= \t{}[]":#eE+-nalosstime', max_size=40),
    max_size=12,
)


def lines_of(texts: Sequence[str]) -> list[Line]:
    return [Line(number, text) for number, text in enumerate(texts, start=1)]


def seconds_of(row: Row) -> float:
    assert row.time is not None
    return float(row.time.seconds)


def write_columns(points: Sequence[Point]) -> list[str]:
    return [f"{seconds!r} {loss!r}" for _, seconds, loss in points]


def write_csv(points: Sequence[Point]) -> list[str]:
    return ["step,Wall Time,train_loss", *(f"{step},{seconds!r},{loss!r}" for step, seconds, loss in points)]


def write_json(points: Sequence[Point]) -> list[str]:
    return [json.dumps({"step": step, "seconds": seconds, "loss": loss}) for step, seconds, loss in points]


def write_key_values(points: Sequence[Point]) -> list[str]:
    return [f"Iteration = {step}, Batch 1, Time = {s!r}, Loss = {loss!r}, Wt loss = 1" for step, s, loss in points]


WRITERS: dict[str, Callable[[Sequence[Point]], list[str]]] = {
    "columns": write_columns,
    "csv": write_csv,
    "jsonl": write_json,
    "key-value": write_key_values,
}


def assert_accounts_for(reader: LogReader, lines: list[Line]) -> None:
    """Every line is a row or ignored, once, in the order of the file; only a header may be neither."""
    reading = rows_of(reader.read(lines, Keys()), LogOptions(decimal="."))
    rows, ignored = [row.line for row in reading.rows], [item.line for item in reading.ignored]
    assert rows == sorted(rows, key=lambda line: line.number)
    assert all(item.reason for item in reading.ignored)
    headers = [line for line in lines if line not in rows and line not in ignored]
    assert len(rows) + len(ignored) + len(headers) == len(lines)
    assert len(headers) <= (1 if reader.name == "csv" and reading.names else 0)


class CarelessReader:
    """Breaks the contract: forgets the lines that it cannot use."""

    name = "careless"
    layout = "anything"

    def read(self, lines: Sequence[Line], keys: Keys) -> Table:
        return Table(tuple(entry for entry in ColumnsReader().read(lines, keys).entries if entry.values))


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
class TestEveryReader:
    @given(texts=TEXTS)
    def test_accounts_for_every_line(self, reader: LogReader, texts: list[str]) -> None:
        assert_accounts_for(reader, lines_of(texts))

    @given(points=POINTS)
    def test_reads_back_the_same_floats(self, reader: LogReader, points: list[Point]) -> None:
        reading = rows_of(reader.read(lines_of(WRITERS[reader.name](points)), Keys()), LogOptions())
        assert [repr((seconds_of(row), row.loss)) for row in reading.rows] == [repr((s, loss)) for _, s, loss in points]
        steps = [None] * len(points) if reader.name == "columns" else [step for step, _, _ in points]
        assert [row.step for row in reading.rows] == steps
        assert not reading.ignored

    def test_of_no_lines_reads_nothing(self, reader: LogReader) -> None:
        assert reader.read([], Keys()) == Table(())

    def test_says_which_line_is_no_data(self, reader: LogReader) -> None:
        written = [*WRITERS[reader.name]([(1, 0.5, 2.0)]), "Avg iter time = 0.003 seconds"]
        reading = rows_of(reader.read(lines_of(written), Keys()), LogOptions())
        assert [item.line.number for item in reading.ignored] == [len(written)]

    @pytest.mark.parametrize("seconds", ["nan", "inf", "soon", "1_0"])
    def test_refuses_seconds_that_are_no_finite_number(self, reader: LogReader, seconds: str) -> None:
        written = WRITERS[reader.name]([(1, 0.5, 2.0)])
        broken = written[-1].replace("0.5", f'"{seconds}"' if reader.name == "jsonl" else seconds)
        reading = rows_of(reader.read(lines_of([*written, broken]), Keys()), LogOptions())
        assert [seconds_of(row) for row in reading.rows] == [0.5]
        assert len(reading.ignored) == 1


def test_the_contract_catches_a_reader_that_drops_lines() -> None:
    with pytest.raises(AssertionError):
        assert_accounts_for(CarelessReader(), lines_of(["0.1 2.3", "the end"]))


def read(name: str, *texts: str, keys: Keys | None = None) -> Reading:
    return rows_of(FORMATS[name].read(lines_of(texts), keys or Keys()), LogOptions(keys or Keys()))


def values(rows: Sequence[Row]) -> list[tuple[float, float]]:
    return [(seconds_of(row), row.loss) for row in rows]


def reasons(ignored: Sequence[Ignored]) -> list[str]:
    return [item.reason for item in ignored]


@pytest.mark.parametrize(
    "text", ["0.5 2.25", "0.5\t2.25", "0.5,2.25", " 0.5 , 2.25 ", "5e-1  225E-2", "0,5 2,25", "0,5;2,25", "0,5, 2,25"]
)
def test_columns_are_separated_by_blanks_tabs_or_a_mark(text: str) -> None:
    assert values(read("columns", text).rows) == [(0.5, 2.25)]


@pytest.mark.parametrize("text", ["0.5", "0.5 2.25 1", "0.5,,2.25", "0.5, x", "0,5,2,25", "0.5 2.25x"])
def test_columns_are_exactly_two_numbers(text: str) -> None:
    assert len(read("columns", text).ignored) == 1


@pytest.mark.parametrize("header", ["TIME,Train/Loss", "elapsed;training_loss", "timestamp\tloss", "wall_time  Loss"])
def test_csv_knows_usual_names_and_delimiters(header: str) -> None:
    row = "1.5;2" if ";" in header else "1.5\t2" if "\t" in header else "1.5,2" if "," in header else "1.5 2"
    assert values(read("csv", header, row).rows) == [(1.5, 2.0)]


def test_csv_takes_names_in_quotes_and_chosen_by_option() -> None:
    reading = read("csv", '"wall, s",Value,loss', "1,2,3", keys=Keys(loss="value", seconds="wall, s"))
    assert values(reading.rows) == [(1.0, 2.0)]
    assert reading.names == ("wall, s", "Value", "loss")


def test_csv_refuses_broken_lines_and_takes_a_header_within() -> None:
    written = ("run 7, today", "seconds,loss", "1,2", "2", "3,", "seconds,loss", '4,"5', "6,7")
    reading = read("csv", *written)
    assert values(reading.rows) == [(1.0, 2.0), (6.0, 7.0)]
    assert reasons(reading.ignored) == [
        "stands before the header",
        "has 1 fields, the header 2",
        "loss is empty",
        "is the header once more",
        "has a quote that is not closed",
    ]


def test_json_lines_take_literals_and_numbers_in_quotes() -> None:
    written = ('{"time": 1, "loss": NaN}', '{"time": "2", "loss": -Infinity}', '{"time": 3, "loss": 1e400}')
    rows = read("jsonl", *written).rows
    assert [seconds_of(row) for row in rows] == [1.0, 2.0, 3.0]
    assert math.isnan(rows[0].loss)
    assert [row.loss for row in rows[1:]] == [-math.inf, math.inf]


def test_json_lines_refuse_what_has_no_loss() -> None:
    written = ('{"time": 1, "loss": true}', '{"time": 1, "loss": null}', '{"time": 1}', "[1, 2]", "{", "[" * 100_000)
    reading = read("jsonl", '{"time": 0, "loss": 2}', *written)
    assert reasons(reading.ignored) == [
        "loss True is not a number",
        "loss is empty",
        "has no 'loss'",
        "is not a JSON object",
        "is not JSON",
        "is not JSON",
    ]


def test_one_curve_has_one_loss() -> None:
    reading = read("jsonl", '{"time": 1, "train_loss": 2}', '{"time": 2, "loss": 9}', '{"time": 3, "train_loss": 1}')
    assert values(reading.rows) == [(1.0, 2.0), (3.0, 1.0)]
    assert reasons(reading.ignored) == ["has no 'train_loss'"]


def test_key_values_have_keys_with_blanks() -> None:
    line = "Timestamp = 0.5, Batch 1, Epoch = 1, Loss = 2.5, Actual Loss = 2.25, Wt loss = 0.25"
    assert values(read("key-value", line).rows) == [(0.5, 2.5)]
    assert values(read("key-value", line, keys=Keys(loss="Actual Loss")).rows) == [(0.5, 2.25)]
    assert values(read("key-value", line, keys=Keys(loss="actual_loss")).rows) == [(0.5, 2.25)]


def test_key_values_may_be_separated_by_blanks() -> None:
    assert values(read("key-value", "step=3 loss=2.5 time=0.5").rows) == [(0.5, 2.5)]
