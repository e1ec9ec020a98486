"""A token for the browser: given once on a page, kept there as a cookie that no script can read."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from dashboards.pages.rendering import show
from dashboards.security.guard import LOGIN, LOGOUT, SESSION
from dashboards.security.settings import Settings
from dashboards.security.tokens import SESSION_S


def login_routes(settings: Settings) -> APIRouter:
    """The page that asks for a token, and what it sends to."""
    routes = APIRouter(include_in_schema=False)

    @routes.get(LOGIN, response_class=HTMLResponse)
    def ask(next: str = "/") -> Response:
        return show("login.html", next=_own(next), wrong=False)

    @routes.post(LOGIN)
    def take(token: Annotated[str, Form()], next: Annotated[str, Form()] = "/") -> Response:
        tokens = settings.tokens
        scope = tokens.scope_of(token.strip()) if tokens else None
        if tokens is None or scope is None:
            return show("login.html", 401, next=_own(next), wrong=tokens is not None)
        answer = RedirectResponse(_own(next), 303)
        answer.set_cookie(
            SESSION, tokens.session(scope), httponly=True, samesite="lax", secure=settings.secure, max_age=SESSION_S
        )
        return answer

    @routes.post(LOGOUT)
    def leave(_: Request) -> Response:
        answer = RedirectResponse(LOGIN, 303)
        answer.delete_cookie(SESSION, httponly=True, samesite="lax", secure=settings.secure)
        return answer

    return routes


def _own(path: str) -> str:
    """A path of this server's; its first page for an address elsewhere."""
    own = path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if own and path.isprintable() else "/"
