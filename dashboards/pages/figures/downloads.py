"""Figures and tables as files for a browser."""

from __future__ import annotations

import csv
from collections.abc import Callable
from typing import Any, Literal
from urllib.parse import quote

from starlette.responses import Response

from dashboards.figures import Figure
from dashboards.figures.drawing.figure_file import default_path, render
from dashboards.responses.flags import without_flags
from dashboards.responses.json_answers import JsonAnswer
from sweeper.errors import FigureError
from sweeper.store import SweepRecord

Extension = Literal["json", "rows", "csv", "png", "svg"]  # rows: what a table beside the figure shows
_MOST_ROWS = 200
_TYPES = {"csv": "text/csv; charset=utf-8", "png": "image/png", "svg": "image/svg+xml"}


def table_or_file(figure: Figure[Any], table: Any, sweep: SweepRecord, extension: str) -> Response:
    """A figure's table as "rows" for the page, or as a file of any other extension under the sweep's name."""
    if extension == "rows":
        return JsonAnswer(_rows_of(figure.csv(table)))
    content = figure.csv(table) if extension == "csv" else _drawn(figure, table, extension)
    return _download(content, sweep.name, sweep.id, figure.name, extension)


def _drawn(figure: Figure[Any], table: Any, extension: str) -> bytes:
    # Only now: matplotlib takes long to load.
    from dashboards.figures.drawing.fonts import fit_fonts

    drawing = figure.draw(table)
    fit_fonts(drawing)
    return render(drawing, extension)


def _download(content: bytes | str, name: str, sweep_id: str, kind: str, extension: str) -> Response:
    """A file under the sweep's name, in any script."""
    file = default_path(name, sweep_id, kind).with_suffix("").name + f".{extension}"
    plain = file.encode("ascii", "replace").decode().replace("?", "_")
    headers = {"Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(file, safe='')}"}
    return Response(content, headers=headers, media_type=_TYPES[extension])


def drawn_or_why_not(draw: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """A figure for the page's script; where it cannot be drawn of what there is, the words that say so.

    That is no failure of the request: a sweep without evaluations has no accuracies.
    """
    try:
        return draw()
    except FigureError as error:
        return {"panels": [], "note": "", "problem": without_flags(str(error))}


def _rows_of(text: str) -> dict[str, Any]:
    """The first rows of a CSV text: {"columns", "rows": [[cell, …]], "more"}, of which `more` counts those left out."""
    columns, *rows = csv.reader(text.splitlines(keepends=True))
    return {"columns": columns, "rows": rows[:_MOST_ROWS], "more": max(0, len(rows) - _MOST_ROWS)}
