"""Fonts for names in any script: one that has the characters where this machine has one, a word about it if not."""

from __future__ import annotations

import logging
import unicodedata
from functools import cache

from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager, get_font
from matplotlib.text import Text
from matplotlib.ticker import Formatter, FuncFormatter

from dashboards.figures.drawing.style import FALLBACK_FONTS, FONT, drawing

logger = logging.getLogger(__name__)

_PLACEHOLDER = "?"
_NO_FONT = "Last Resort"  # matplotlib's own, which has a box for every character
_SHOWN = 10
_told: set[str] = set()


def fit_fonts(figure: Figure) -> None:
    """Give the texts of a figure fonts that have their characters.

    A character that no font of this machine has becomes a question mark, and a warning names it, once in a process.
    """
    with drawing():
        texts = _texts(figure)
        missing = {character for text in texts for character in text.get_text()}
        missing = {one for one in missing if ord(one) not in _characters(_path(FONT)) and not one.isspace()}
        if not missing:
            return
        fonts, missing = _fonts_for(missing)
        for text in texts:
            text.set_fontfamily([FONT, *fonts])
        if missing:
            _replace(figure, texts, missing)
            _tell("".join(sorted(one for one in missing if not _is_mark(one))))


def _texts(figure: Figure) -> list[Text]:
    """All texts, with the labels of ticks, which are made when somebody asks for them."""
    for axes in figure.axes:
        axes.get_xticklabels()
        axes.get_yticklabels()
    return [text for text in figure.findobj(Text) if isinstance(text, Text)]


def _fonts_for(characters: set[str]) -> tuple[list[str], set[str]]:
    """Installed fonts that have these characters, as few as come first; and the characters that none has."""
    installed = {font.name: font.fname for font in fontManager.ttflist if not font.name.startswith(_NO_FONT)}
    order = dict.fromkeys([*(name for name in FALLBACK_FONTS if name in installed), *sorted(installed)])
    fonts = []
    for name in order:
        found = {one for one in characters if ord(one) in _characters(installed[name])}
        if found:
            fonts.append(name)
            characters = characters - found
        if not characters:
            break
    return fonts, characters


@cache
def _characters(path: str) -> frozenset[int]:
    """The characters of a font; none of one that cannot be read, as some with coloured pictures."""
    try:
        return frozenset(get_font(path).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()


def _path(name: str) -> str:
    return str(fontManager.findfont(name))


def _replace(figure: Figure, texts: list[Text], characters: set[str]) -> None:
    table = {ord(one): "" if _is_mark(one) else _PLACEHOLDER for one in characters}
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        if any(characters & set(label.get_text()) for label in axis.get_ticklabels()):
            axis.set_major_formatter(_without(axis.get_major_formatter(), table))
    for text in texts:
        text.set_text(text.get_text().translate(table))


def _without(formatter: Formatter, table: dict[int, str]) -> FuncFormatter:
    """A formatter of ticks, which makes their labels anew for each drawing."""
    return FuncFormatter(lambda value, position: formatter(value, position).translate(table))


def _is_mark(character: str) -> bool:
    """Whether a character only changes another, as those that join emoji or choose their looks."""
    return unicodedata.category(character) in ("Cf", "Mn")


def _tell(characters: str) -> None:
    new = "".join(one for one in characters if one not in _told)
    _told.update(new)
    if new:
        shown = new if len(new) <= _SHOWN else f"{new[:_SHOWN]}…"
        logger.warning("no font of this machine has %s; install one, for example Noto Sans CJK or Noto Emoji", shown)
