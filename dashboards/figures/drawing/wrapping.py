"""Texts of any script, broken into lines that fit a width in inches."""

from __future__ import annotations

import unicodedata
from functools import cache

from matplotlib.font_manager import FontProperties, findfont, get_font

from dashboards.figures.words.numbers import printable

_FONT_PT = 100  # measured at this size, for the widths of all


def wrap(text: str, inches: float, points: float) -> str:
    """The text broken into lines that fit a width at a font size, within words only where one is too long."""
    width = inches * 72 / points
    lines, line = [], ""
    for word in printable(text).split(" "):
        joined = f"{line} {word}" if line else word
        if _ems(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        line = ""
        for character in word:
            if _ems(line + character) > width:
                lines.append(line)
                line = ""
            line += character
    return "\n".join([*lines, line])


def _ems(text: str) -> float:
    """Width of a line in units of its font size."""
    return sum(map(_advance, text))


@cache
def _advance(character: str) -> float:
    """Width of a character in units of the font size; of one that DejaVu lacks, a full square."""
    if unicodedata.combining(character):
        return 0.0
    font = get_font(findfont(FontProperties(family="DejaVu Sans")))
    if ord(character) not in font.get_charmap():
        return 1.0
    font.set_size(_FONT_PT, 72)
    return font.load_char(ord(character)).linearHoriAdvance / 65536 / _FONT_PT  # 16.16 fixed point
