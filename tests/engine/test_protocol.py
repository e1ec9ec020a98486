"""The lines between a gang's supervisor and its rank 0."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config import TrainingConfig
from engine.protocol import (
    Command,
    Ended,
    Event,
    Exit,
    Failed,
    Point,
    Prepare,
    Ready,
    Started,
    Stop,
    Train,
    decode_command,
    decode_event,
    encode,
)

_COUNTS = st.integers(0, 2**63)
_FINITE = st.floats(allow_nan=False, allow_infinity=False)
_JSON = st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | _FINITE | st.text(), max_size=4)
_EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(Ready, _COUNTS, st.lists(_COUNTS), st.lists(st.text()), st.dictionaries(st.text(), st.text())),
    st.builds(Started, st.text(), st.floats(), _JSON),
    st.builds(Point, st.text(), _COUNTS, _COUNTS, st.floats(), st.floats()),
    st.builds(
        Ended,
        st.text(),
        st.sampled_from(["completed", "diverged", "stopped"]),
        _COUNTS,
        _COUNTS,
        st.floats(),
        st.dictionaries(st.text(), st.floats()),
        st.text(),
    ),
    st.builds(Failed, st.text(), st.text(), st.none() | _COUNTS, st.text()),
)
_COMMANDS: st.SearchStrategy[Command] = st.one_of(
    st.builds(Train, st.text(), _JSON), st.builds(Prepare, _JSON), st.builds(Stop, st.text()), st.just(Exit())
)


def strict(line: str) -> Any:
    """The content of a line of JSON as every other program reads it: no NaN, no Infinity."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(line, parse_constant=refuse)


@given(_EVENTS)
def test_events_survive_the_way(event: Event) -> None:
    line = encode(event)
    assert len(line.splitlines()) == 1
    assert line.isascii()
    assert next(iter(strict(line).items())) == ("event", event.kind)
    decoded = decode_event(line)
    assert repr(decoded) == repr(event)  # NaN equals itself there, and 1 is not 1.0
    assert repr(decode_event(line + "\n")) == repr(event)


@given(_COMMANDS)
def test_commands_survive_the_way(command: Command) -> None:
    line = encode(command)
    assert len(line.splitlines()) == 1
    assert next(iter(strict(line).items())) == ("command", command.kind)
    assert decode_command(line) == command


def test_a_config_survives_the_way() -> None:
    config = TrainingConfig(learning_rate=0.1 + 0.2, seed=2**63 - 1)
    command = decode_command(encode(Train("t", config.model_dump(mode="json"))))
    assert isinstance(command, Train)
    assert TrainingConfig.model_validate(command.config) == config


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_losses_that_json_cannot_hold_travel_as_words(loss: float) -> None:
    line = encode(Point("t", 1, 2, 0.5, loss))
    assert strict(line)["loss"] == str(loss)
    decoded = decode_event(line)
    assert isinstance(decoded, Point)
    assert isinstance(decoded.loss, float)
    assert repr(decoded.loss) == repr(loss)


def test_a_loss_that_is_a_whole_number_is_a_float_again() -> None:
    decoded = decode_event('{"event":"point","trial":"t","step":1,"images":2,"seconds":1,"loss":2}')
    assert repr(decoded) == repr(Point("t", 1, 2, 1.0, 2.0))


@given(st.text())
def test_what_somebody_prints_is_no_event(text: str) -> None:
    assert decode_event(text) is None


@pytest.mark.parametrize(
    "line",
    [
        "",
        "loss: 0.5",
        '{"command":"exit"}',
        ' {"event":"point"}',
        '{"event":',
        '{"event":"party"}',
        '{"event":["point"]}',
        '{"event":"point"}',
        '{"event":"point","trial":"t","step":1,"images":2,"seconds":0.5,"loss":0.5,"mood":"good"}',
        '{"event":"point","trial":"t","step":1,"images":2,"seconds":0.5,"loss":"low"}',
        '{"event":"point","trial":"t","step":1,"images":2,"seconds":null,"loss":0.5}',
        '{"event":"point","trial":"t","step":1,"images":2,"seconds":0.5,"loss":' + "9" * 400 + "}",
        '{"event":"ended","trial":"t","outcome":"completed","steps":1,"images":1,"seconds":1,"phases":[1]}',
        '{"event":' + "[" * 100_000,
    ],
)
def test_a_line_that_only_looks_like_an_event_is_none(line: str) -> None:
    assert decode_event(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "",
        "\n",
        "train",
        "[]",
        "null",
        "{}",
        '{"command":"dance"}',
        '{"command":["train"]}',
        '{"command":"train"}',
        '{"command":"train","trial":"t","config":{},"more":1}',
        '{"event":"ready"}',
        "[" * 100_000,
    ],
)
def test_a_line_that_is_no_command_is_refused_with_the_known_ones(line: str) -> None:
    with pytest.raises(ValueError, match="known are train, prepare, stop, exit"):
        decode_command(line)


@given(st.text())
def test_any_text_is_a_command_or_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="not a command"):
        decode_command(text)


def test_fields_have_the_names_that_are_sent() -> None:
    event = Ended("t", "completed", 1, 2, 0.5, {"compute": 0.25})
    assert strict(encode(event)) == {"event": "ended", **asdict(event)}
