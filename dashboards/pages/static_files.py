"""The files that pages load: our own style and script, and Plotly's from its Python package."""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

_FOLDER = Path(__file__).parent / "static"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FOR_EVER = "public, max-age=31536000, immutable"  # what is in a file is in its address: another has another


def plotly_address() -> str:
    """Where Plotly's script is, by its version."""
    return f"/static/plotly-{version('plotly')}.js"


def asset(name: str) -> str:
    """The address of one of our files, by its content."""
    return f"/static/{_digest()}/{name}"


def routes() -> APIRouter:
    """All files, and no others: nothing of an address is taken for a path."""
    routes = APIRouter()

    @routes.get(plotly_address())
    def plotly(request: Request) -> Response:
        return _answer(request, _plotly(), "text/javascript")

    @routes.get("/static/{digest}/{name}")
    def own(request: Request, digest: str, name: str) -> Response:
        found = _own_files().get(name)
        if found is None or digest != _digest():
            raise HTTPException(404, "no such file")
        return _answer(request, found, _TYPES[Path(name).suffix])

    return routes


def _answer(request: Request, packed: bytes, kind: str) -> Response:
    """A file as it is kept, packed; unpacked for who cannot read that."""
    headers = {"Cache-Control": _FOR_EVER, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(packed, headers={**headers, "Content-Encoding": "gzip"}, media_type=kind)
    return Response(gzip.decompress(packed), headers=headers, media_type=kind)


@cache
def _plotly() -> bytes:
    return gzip.compress((files("plotly") / "package_data" / "plotly.min.js").read_bytes(), 6, mtime=0)


@cache
def _own_files() -> dict[str, bytes]:
    return {path.name: gzip.compress(path.read_bytes(), 9, mtime=0) for path in sorted(_FOLDER.iterdir())}


@cache
def _digest() -> str:
    return hashlib.sha256(b"".join(_own_files().values())).hexdigest()[:12]
