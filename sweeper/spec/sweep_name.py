"""What a sweep may be called."""

from __future__ import annotations

import unicodedata

LATEST = "latest"  # stands for the newest sweep wherever one is named
LONGEST = 200
_UNSHOWN = {"Cc", "Cs", "Zl", "Zp"}  # Unicode's categories of controls, half characters, line and paragraph ends


def checked_name(name: str) -> str:
    """The name, if it can be shown on a line, stored, and told apart from other ways of naming a sweep.

    Raises:
        ValueError: what is wrong with it, and the remedy.
    """
    if not name.strip():
        raise ValueError("is blank; give at least one letter")
    if len(name) > LONGEST:
        raise ValueError(f"has {len(name)} characters; give at most {LONGEST}")
    if any(map(is_unshown, name)):
        raise ValueError("holds what cannot be shown on a line; leave out line ends and control characters")
    if name == LATEST:
        raise ValueError("stands for the newest sweep; give another name")
    return name


def is_unshown(letter: str) -> bool:
    """Whether a character breaks a line or cannot be stored."""
    return unicodedata.category(letter) in _UNSHOWN
