"""Answers in JSON: one way to write them, one shape of errors."""

from __future__ import annotations

import json
from typing import Any

import orjson
from starlette.responses import JSONResponse

from sweeper.answers.numbers import finite


class JsonAnswer(JSONResponse):
    """A value as JSON, in which numbers that are not finite are null."""

    def render(self, content: Any) -> bytes:
        """The bytes of the body."""
        return to_json(content)


def to_json(value: Any) -> bytes:
    """A value as JSON, in which numbers that are not finite are null."""
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:  # whole numbers beyond 64 bits, halves of surrogate pairs: both may come by an import
        return json.dumps(finite(value)).encode()


def error_content(kind: str, message: str, remedy: str = "") -> dict[str, Any]:
    """The one shape of errors, that of the command line's --json."""
    return {"error": {"kind": kind, "message": message, "remedy": remedy}}


def error_answer(status: int, kind: str, message: str, remedy: str = "") -> JsonAnswer:
    """An error as an answer."""
    return JsonAnswer(error_content(kind, message, remedy), status_code=status)
