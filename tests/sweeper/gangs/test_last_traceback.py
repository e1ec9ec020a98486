"""The traceback in a log that several ranks write at once."""

from __future__ import annotations

import pytest

from sweeper.gangs.command_gang import last_traceback

BEGIN = "Traceback (most recent call last):\n"
FILE = '  File "program.py", line 3, in <module>\n    raise ValueError("no luck")\n'
END = "ValueError: no luck"


@pytest.mark.parametrize(
    ("log", "last_line"),
    [
        (f"{BEGIN}{FILE}{END}\n", END),
        (f"said before\n{BEGIN}{FILE}{END}\nsaid after\n", END),
        (f"{BEGIN}{BEGIN}{FILE}{FILE}{END}\n{END}\n", END),  # two ranks at once
        (f"{BEGIN}{FILE}{BEGIN}{FILE}{END}\n", END),
        (f"{BEGIN}{FILE}{END}\n{BEGIN}{FILE}", END),  # the other's is not whole yet
        (f"{BEGIN}{FILE}{BEGIN}", ""),
        (f"{BEGIN}{FILE}{BEGIN}{FILE}", ""),
        (f"{BEGIN}{FILE}ValueErr", ""),
        (f"{BEGIN}{FILE}KeyError: 1\n\nDuring handling, another:\n\n{BEGIN}{FILE}{END}\n", END),
        ("", ""),
        ("no luck\n", ""),
    ],
)
def test_it_ends_with_the_exception(log: str, last_line: str) -> None:
    assert (last_traceback(log).splitlines() or [""])[-1] == last_line
