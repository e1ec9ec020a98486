"""Names in any script: a font that has their characters, or a word about it."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from fontTools.fontBuilder import FontBuilder  # type: ignore[import-untyped]
from fontTools.pens.ttGlyphPen import TTGlyphPen  # type: ignore[import-untyped]
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.text import Text

from dashboards.figures.drawing import fonts
from dashboards.figures.drawing.fonts import fit_fonts
from dashboards.figures.drawing.style import drawing, new_figure


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_told", set())


@pytest.fixture
def font(tmp_path: Path) -> Iterator[str]:
    """An installed font that has nothing but 日 and 本."""
    pen = TTGlyphPen(None)
    for place in ((0, 0), (0, 500), (500, 500)):
        (pen.lineTo if place != (0, 0) else pen.moveTo)(place)
    pen.closePath()
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "sun"])
    builder.setupCharacterMap({ord("日"): "sun", ord("本"): "sun"})
    builder.setupGlyf({".notdef": pen.glyph(), "sun": pen.glyph()})
    builder.setupHorizontalMetrics({".notdef": (500, 0), "sun": (500, 0)})
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Two Characters", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(tmp_path / "two.ttf")
    before = list(fontManager.ttflist)
    fontManager.addfont(tmp_path / "two.ttf")
    yield "Two Characters"
    fontManager.ttflist = before


def named(name: str) -> Figure:
    """A figure with a name in its title, in a legend and at its ticks."""
    with drawing():
        figure = new_figure(4, 3)
        axes = figure.add_subplot()
        axes.set_title(name)
        axes.plot([0, 1], label=name)
        axes.legend()
        axes.set_yticks([0, 1], [name, "b"])
    return figure


def shown(figure: Figure) -> list[str]:
    (axes,) = figure.axes
    legend = axes.get_legend()
    assert legend
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # also where somebody else saves it, with his own settings
        figure.savefig(io.BytesIO(), format="svg")
    return [axes.get_title(loc="left"), legend.get_texts()[0].get_text(), axes.get_yticklabels()[0].get_text()]


def test_a_font_of_the_machine_is_used(font: str, caplog: pytest.LogCaptureFixture) -> None:
    figure = named("日本 x")
    fit_fonts(figure)
    assert shown(figure) == ["日本 x"] * 3
    assert font in figure.findobj(Text)[0].get_fontfamily()
    assert caplog.messages == []


@pytest.mark.usefixtures("font")
def test_what_no_font_has_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        with caplog.at_level(logging.WARNING):
            figure = named("日本 \U0001fae0\U000e0100")
            fit_fonts(figure)
        assert shown(figure) == ["日本 ?"] * 3
    (line,) = caplog.messages
    assert line == "no font of this machine has \U0001fae0; install one, for example Noto Sans CJK or Noto Emoji"


def test_other_figures_stay_as_they_are(caplog: pytest.LogCaptureFixture) -> None:
    figure = named("größer ≥ 0.5, α → ω")
    family = figure.findobj(Text)[0].get_fontfamily()
    fit_fonts(figure)
    assert shown(figure) == ["größer ≥ 0.5, α → ω"] * 3
    assert figure.findobj(Text)[0].get_fontfamily() == family
    assert caplog.messages == []
