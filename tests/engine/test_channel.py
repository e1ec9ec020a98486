"""A rank's ends of the gang's pipes, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from engine.channel import BROKEN_COMMAND, ORPHANED
from engine.protocol import Command, Exit, Point, Stop, Train, decode_event, encode

_NOISE = """
import os, subprocess
from engine.channel import EventWriter
from engine.protocol import Point
print("before")
events = EventWriter()
print("printed")
os.write(1, b"written\\n")
subprocess.run(["echo", "said by a child"])
events.send(Point("t", 1, 2, 0.5, float("nan")))
print("printed without an end", end="")
events.send(Point("é", 2, 4, 1.0, 0.25))
"""

# Tells what it was given and whether it is asked to stop, each time that it is allowed to.
_READER = """
import threading
from engine.channel import CommandReader
reader = CommandReader()
print("ready", flush=True)
for command in reader:
    print("training", command.trial, flush=True)
    while not reader.stop_asked(command.trial):
        pass
    if command.trial == "slow to end":
        reader.end_trial()
        print("ended", flush=True)
        while "commands" in [thread.name for thread in threading.enumerate()]:
            pass
    print("stopped", command.trial, flush=True)
print("over", flush=True)
"""


def test_what_is_printed_goes_to_standard_error() -> None:
    done = subprocess.run([sys.executable, "-c", _NOISE], capture_output=True, text=True, check=True)
    before, first, second = done.stdout.splitlines()
    assert before == "before"
    assert decode_event(before) is None
    assert repr(decode_event(first)) == repr(Point("t", 1, 2, 0.5, float("nan")))
    assert decode_event(second) == Point("é", 2, 4, 1.0, 0.25)
    for noise in ("printed\n", "written\n", "said by a child\n", "printed without an end"):
        assert noise in done.stderr


class Reader:
    """A process that reads commands."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        assert self.hear() == "ready"

    def send(self, *commands: Command | str) -> None:
        assert self._process.stdin is not None
        for command in commands:
            self._process.stdin.write(command if isinstance(command, str) else encode(command) + "\n")
        self._process.stdin.flush()

    def hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def hang_up(self) -> tuple[int, str]:
        """Its exit code and what it still says, after its standard input has ended."""
        said, _ = self._process.communicate(timeout=30)
        return self._process.returncode, said.strip()

    def end(self) -> int:
        return self._process.wait(timeout=30)


@pytest.fixture
def reader() -> Iterator[Reader]:
    command = [sys.executable, "-c", _READER]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True) as process:
        yield Reader(process)
        process.kill()


def test_trials_come_one_after_another_until_the_exit(reader: Reader) -> None:
    reader.send(Train("a", {}), Train("b", {}), Stop("a"))
    assert [reader.hear() for _ in range(3)] == ["training a", "stopped a", "training b"]
    reader.send(Stop("b"), Exit())
    assert [reader.hear() for _ in range(2)] == ["stopped b", "over"]
    assert reader.end() == 0


def test_a_stop_is_for_its_trial_alone(reader: Reader) -> None:
    reader.send(Train("a", {}), Stop("other"), Stop("a"))
    assert [reader.hear() for _ in range(2)] == ["training a", "stopped a"]


def test_a_stop_from_before_the_trial_is_ignored(reader: Reader) -> None:
    """It was meant for an earlier attempt, which had ended when it came."""
    reader.send(Stop("a"), Train("a", {}))
    assert reader.hear() == "training a"
    assert reader.hang_up() == (ORPHANED, ""), "it trained on until the supervisor was gone"


def test_the_end_of_standard_input_lets_an_idle_rank_go(reader: Reader) -> None:
    assert reader.hang_up() == (0, "over")


def test_the_end_of_standard_input_ends_a_training_rank_at_once(reader: Reader) -> None:
    reader.send(Train("a", {}))
    assert reader.hear() == "training a"
    assert reader.hang_up() == (ORPHANED, "")


def test_a_trial_whose_end_is_reported_counts_as_over(reader: Reader) -> None:
    """The supervisor may hang up on hearing of it, though the rank is not back for the next command yet."""
    reader.send(Train("slow to end", {}), Stop("slow to end"))
    assert [reader.hear(), reader.hear()] == ["training slow to end", "ended"]
    code, said = reader.hang_up()
    assert (code, said.splitlines()) == (0, ["stopped slow to end", "over"])


@pytest.mark.parametrize(
    "line", ["hello\n", "\n", '{"command":"train"}\n', '{"event":"ready"}\n', "[" * 100_000 + "\n"]
)
def test_a_broken_command_ends_it_with_the_reason(reader: Reader, line: str) -> None:
    reader.send(line)
    assert reader.hear().startswith("broken command: not a command: ")
    assert reader.end() == BROKEN_COMMAND
