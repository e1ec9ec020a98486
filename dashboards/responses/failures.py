"""What becomes of errors: for programs the one shape, for people a page with the same words."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from dashboards.responses.flags import without_flags
from dashboards.responses.json_answers import error_answer
from engine.errors import ClearError
from sweeper import errors

_STATUS: dict[type[ClearError], int] = {
    errors.NotFoundError: 404,
    errors.FigureError: 404,
    errors.SpecError: 422,
    errors.SeatingError: 422,
    errors.SubmissionError: 409,
    errors.AccessError: 403,
    errors.StoreError: 503,
}
_KINDS = {404: "not-found", 405: "method", 400: "usage"}
ErrorPage = Callable[[int, str, str, str], Response]  # of status, kind, message and remedy


def handle_failures(app: FastAPI, page: ErrorPage) -> None:
    """Have each error answered in the one shape, or as a `page` if a browser asks for one."""

    def failure(request: Request, status: int, kind: str, message: str, remedy: str) -> Response:
        of_pages = not request.url.path.startswith("/api/")
        wants_page = "text/html" in request.headers.get("accept", "") and of_pages
        if of_pages:
            message, remedy = without_flags(message), without_flags(remedy)
        return (page if wants_page else error_answer)(status, kind, message, remedy)

    def clear(request: Request, error: Exception) -> Response:
        assert isinstance(error, ClearError)
        return failure(request, status_of(error), error.kind, error.message, error.remedy)

    def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return failure(request, 422, "usage", "\n".join(map(_line, error.errors())), "see /api/v1/openapi.json")

    def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        kind = _KINDS.get(error.status_code, "usage")
        remedy = "see /api/v1/openapi.json" if kind != "not-found" else "see / and /api/v1/openapi.json"
        message = f"{request.method} {request.url.path}: {error.detail}"
        answer = failure(request, error.status_code, kind, message, remedy)
        answer.headers.update(error.headers or {})
        return answer

    app.add_exception_handler(ClearError, clear)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, refused)


def status_of(error: ClearError) -> int:
    """The HTTP status of an error."""
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 400)


def _line(fault: dict[str, object]) -> str:
    place = fault.get("loc", ())
    where = (
        ".".join(str(part) for part in place if part not in ("body", "query", "path", "header"))
        if isinstance(place, tuple | list)
        else ""
    )
    return f"{where or 'body'}: {fault.get('msg')}, got {str(fault.get('input'))[:100]!r}"
