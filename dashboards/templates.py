"""Pages of HTML, written from templates in which nothing that comes from elsewhere is taken for HTML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "pages" / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def page(template: str, status: int = 200, **content: Any) -> HTMLResponse:
    """A page of a template; a name that the template needs and `content` has not is an error."""
    return HTMLResponse(_ENVIRONMENT.get_template(template).render(**content), status)
