"""How all figures look on paper: palette, fonts, and the settings of matplotlib."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.layout_engine import ConstrainedLayoutEngine

INK = "#1a1a1a"
MUTED = "#5f6368"
WINNER = "#d55e00"
SEQUENTIAL = "viridis"
# Okabe and Ito's colours, told apart with any colour vision, without the yellow that fades on white.
GROUP_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
GROUP_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
TEXT_PT = 9.0
SMALL_PT = 7.0
TITLE_PT = 10.0
NAME_PT = 12.0
MAXIMUM_INCHES = 300.0  # a picture's side must stay below 2**16 pixels

FONT = "DejaVu Sans"
# Tried in this order for what it lacks, mostly Chinese, Japanese and Korean.
FALLBACK_FONTS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans JP",
    "Noto Sans SC",
    "Source Han Sans",
    "Hiragino Sans",
    "PingFang SC",
    "Yu Gothic",
    "Microsoft YaHei",
    "Malgun Gothic",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "IPAexGothic",
    "Droid Sans Fallback",
    "Noto Emoji",
    "Symbola",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Unifont",
)
_LOCK = threading.RLock()


@contextmanager
def drawing() -> Iterator[None]:
    """The project's settings for as long as something is drawn or rendered, whatever the user's own are.

    matplotlib's settings belong to the process, so that one thread draws at a time.
    """
    with _LOCK, matplotlib.rc_context(), warnings.catch_warnings():
        # A sweep's name may be in any script: `fit_fonts` says which characters no font has.
        warnings.filterwarnings("ignore", message=r"(?s)Glyph \d+ .*missing from", category=UserWarning)
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_settings())
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of this size in inches, laid out so that nothing overlaps, on a canvas of its own."""
    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1)
    figure = Figure(figsize=(min(width, MAXIMUM_INCHES), min(height, MAXIMUM_INCHES)), layout=layout)
    FigureCanvasAgg(figure)
    return figure


def _settings() -> Any:
    installed = {font.name for font in fontManager.ttflist}
    return {
        "font.family": [FONT, *(name for name in FALLBACK_FONTS if name in installed)],
        "font.size": TEXT_PT,
        "axes.titlesize": TITLE_PT,
        "axes.titlelocation": "left",
        "axes.labelsize": TEXT_PT,
        "axes.edgecolor": MUTED,
        "axes.labelcolor": INK,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "figure.dpi": 150,
        "figure.titlesize": NAME_PT,
        "grid.color": "#e4e6e9",
        "grid.linewidth": 0.7,
        "hatch.linewidth": 0.7,
        "legend.fontsize": TEXT_PT,
        "legend.frameon": False,
        "savefig.dpi": 150,
        "text.color": INK,
        "text.parse_math": False,  # a name such as "cost in $ per $" is no formula
        "svg.hashsalt": "sweeper",  # the same figure gives the same file
        "xtick.color": MUTED,
        "xtick.labelcolor": INK,
        "ytick.color": MUTED,
        "ytick.labelcolor": INK,
    }
