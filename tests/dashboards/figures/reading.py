"""What a drawing says."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.text import Text


def texts(figure: Figure) -> list[str]:
    """All texts of a figure."""
    return [text.get_text() for text in figure.findobj(Text) if isinstance(text, Text)]
