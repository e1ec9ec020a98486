"""The traceback and the last line in a log that several ranks write at once."""

from __future__ import annotations

import pytest

from sweeper.gangs.command_gang import last_line, last_traceback

BEGIN = "Traceback (most recent call last):\n"
FILE = '  File "program.py", line 3, in <module>\n    raise ValueError("no luck")\n'
END = "ValueError: no luck"
RULE = "-" * 74
NOTICE = f"{RULE}\nmpiexec detected that one or more processes exited with non-zero status\n{RULE}\n"


def of_rank(rank: int, traceback: str) -> str:
    """As torch prints it once `torch.distributed` is up."""
    return "".join(f"[rank{rank}]: {line}\n" for line in traceback.splitlines())


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
        (of_rank(0, BEGIN + FILE + END) + of_rank(1, f"{BEGIN}{FILE}{END}"), END),
        ("", ""),
        ("no luck\n", ""),
    ],
)
def test_it_ends_with_the_exception(log: str, last_line: str) -> None:
    assert (last_traceback(log).splitlines() or [""])[-1] == last_line


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("no such file\n", "no such file"),
        (f"no such file\n\n{NOTICE}{NOTICE}", "no such file"),
        (f"{NOTICE}no such file\n{RULE}\nPrimary job terminated", "no such file"),
        (f"no such file\n{'=' * 83}\n=   BAD TERMINATION\n{'=' * 83}\n", "no such file"),
        ("| loss | 0.3 |\n|------|-----|\n---\n", "| loss | 0.3 |"),
        (f"{RULE}\nepoch loss\n1 0.3\nout of disk\n", "out of disk"),
        (f"{RULE}\nno such file\n{RULE}\n", "no such file"),
        (NOTICE, ""),
        ("", ""),
    ],
)
def test_a_program_s_last_line_is_not_the_launcher_s(log: str, line: str) -> None:
    assert last_line(log) == line
