"""Which process is whose, and which has gone."""

from __future__ import annotations

import subprocess
import sys

from sweeper.gangs.process_identity import is_gone, this_machine, this_process


def test_this_process_is_here() -> None:
    assert not is_gone(this_machine(), this_process())


def test_a_process_is_gone_when_it_has_ended_or_its_number_is_another_ones() -> None:
    program = "from sweeper.gangs.process_identity import this_process; print(this_process())"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    assert is_gone(this_machine(), ended)
    number, _, _ = this_process().partition(" ")
    assert is_gone(this_machine(), f"{number} 1")


def test_of_another_machine_nothing_is_known() -> None:
    assert not is_gone("another machine", "1 1")


def test_a_process_that_has_ended_and_was_not_waited_for_is_gone() -> None:
    program = "from sweeper.gangs.process_identity import this_process; print(this_process(), flush=True)"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.read().strip()  # up to its end
    while not is_gone(this_machine(), said):
        pass
    assert process.wait() == 0
