"""The outermost layer of the service: every request passes it, whatever it asks for."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import quote, urlsplit

from limits import RateLimitItemPerMinute, RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboards.responses.json_answers import error_answer
from dashboards.security import tokens as access
from dashboards.security.settings import Settings

logger = logging.getLogger(__name__)

SESSION = "sweeper-session"
LOGIN = "/login"
LOGOUT = "/logout"
_OPEN = ("/healthz", LOGIN, LOGOUT, "/static/")
_SAFE = ("GET", "HEAD", "OPTIONS")
_POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",  # Plotly sets styles of elements
        "img-src 'self' data: blob:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


class Guard:
    """Lets through what is meant for this service, from who may ask it, at a rate that it can bear.

    Adds the headers that keep browsers from doing more with an answer than to show it.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                if scope["path"] == LOGIN and message["status"] == 401:
                    self._count_wrong_token(scope)
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            receive, refusal = await self._whole_body(receive) if scope["method"] not in _SAFE else (receive, None)
        if refusal:
            await refusal(scope, receive, guarded)
            return
        try:
            await self._app(scope, receive, guarded)
        except Exception:
            logger.exception("%s %s", scope["method"], scope["path"])
            if begun:
                raise
            answer = error_answer(500, "internal", "the server has failed", "its log says how")
            await answer(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        return (
            self._wrong_host(headers)
            or self._wrong_origin(scope["method"], headers)
            or self._too_often(scope)
            or self._no_access(scope, headers)
            or self._body_refusal(headers)
        )

    def _wrong_host(self, headers: Headers) -> Response | None:
        """A page of somebody else's whose name leads here would come with that name."""
        given = headers.get("host", "")
        if _name_of(f"//{given}") in self._settings.hosts:
            return None
        return error_answer(
            400, "host", f"host: {given!r} is none of this server's names", "start it with --allow-host NAME"
        )

    def _wrong_origin(self, method: str, headers: Headers) -> Response | None:
        if method in _SAFE:
            return None
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        foreign = origin is not None and _place_of(origin) != headers.get("host", "")
        if not foreign and site in ("none", "same-origin"):
            return None
        where = origin or site
        return error_answer(403, "origin", f"origin: {where!r} is another site's", "submit from the server's own pages")

    def _too_often(self, scope: Scope) -> Response | None:
        settings, client = self._settings, _client(scope)
        most = settings.requests_per_second
        if most is not None and not self._limiter.hit(RateLimitItemPerSecond(most), "requests", client):
            return _slow_down(f"requests: more than {most} a second")
        most = settings.changes_per_minute if scope["method"] not in _SAFE else None
        if most is not None and not self._limiter.hit(RateLimitItemPerMinute(most), "changes", client):
            return _slow_down(f"changes: more than {most} a minute")
        return None

    def _no_access(self, scope: Scope, headers: Headers) -> Response | None:
        path, tokens = scope["path"], self._settings.tokens
        is_open = any(path == one or (one.endswith("/") and path.startswith(one)) for one in _OPEN)
        if tokens is None or (is_open and scope["method"] in _SAFE):
            return None
        most = self._settings.wrong_tokens_per_minute
        if most is not None and not self._limiter.test(RateLimitItemPerMinute(most), "tokens", _client(scope)):
            return _slow_down(f"token: more than {most} wrong ones a minute")
        if is_open:
            return None
        given = _bearer(headers)
        may = tokens.scope_of(given) if given is not None else _of_session(tokens, headers)
        if may is None:
            if given is not None:
                self._count_wrong_token(scope)
            return _asks_for_token(scope, headers, given)
        if scope["method"] not in _SAFE and may < access.Scope.SUBMIT:
            return error_answer(403, "access", "token: this one may read only", "use one that may submit")
        return None

    def _count_wrong_token(self, scope: Scope) -> None:
        if (most := self._settings.wrong_tokens_per_minute) is not None:
            self._limiter.hit(RateLimitItemPerMinute(most), "tokens", _client(scope))

    def _body_refusal(self, headers: Headers) -> Response | None:
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 18:
            return error_answer(400, "usage", "content-length: is no number", "leave it to the HTTP library")
        return self._too_large() if int(length) > self._settings.largest_body else None

    def _too_large(self) -> Response:
        most = self._settings.largest_body
        return error_answer(413, "too-large", f"body: has more than {most} bytes", "send a smaller spec")

    async def _whole_body(self, receive: Receive) -> tuple[Receive, Response | None]:
        """A body whose length nobody may have said, read as far as it may go; a refusal where it goes on."""
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] != "http.request":  # who asked has gone
                break
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self._settings.largest_body:
                return receive, self._too_large()
        given = False

        async def again() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": bytes(body), "more_body": False}

        return again, None


def _place_of(url: str) -> str | None:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return None


def _name_of(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""


def _client(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""


def _bearer(headers: Headers) -> str | None:
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else None


def _of_session(tokens: access.Tokens, headers: Headers) -> access.Scope | None:
    session = cookies(headers).get(SESSION)
    return tokens.scope_of_session(session) if session else None


def cookies(headers: Headers) -> Mapping[str, str]:
    """The cookies of a request; none where they cannot be read."""
    try:
        return {name: one.value for name, one in SimpleCookie(headers.get("cookie", "")).items()}
    except CookieError:
        return {}


def _asks_for_token(scope: Scope, headers: Headers, given: str | None) -> Response:
    if scope["method"] == "GET" and "text/html" in headers.get("accept", "") and not scope["path"].startswith("/api/"):
        where = scope["path"] + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else "")
        return RedirectResponse(f"{LOGIN}?next={quote(where, safe='')}", 303)
    problem = "token: is missing" if given is None else "token: is none of this server's"
    answer = error_answer(401, "access", problem, "send Authorization: Bearer TOKEN")
    answer.headers["WWW-Authenticate"] = "Bearer"
    return answer


def _slow_down(problem: str) -> Response:
    answer = error_answer(429, "rate", problem, "wait a little, and ask less often")
    answer.headers["Retry-After"] = "5"
    return answer
