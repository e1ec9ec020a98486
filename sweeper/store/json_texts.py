"""JSON as databases have it, decoded by orjson where that gives what Python's own decoder would."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import orjson

# Digits as zeros, all else as spaces: so many in a row may be a whole number beyond 64 bits, which orjson has not.
_DIGITS = bytes(ord("0") if chr(byte) in "0123456789" else ord(" ") for byte in range(256))
_LONG_NUMBER = 19 * b"0"


def decoded(text: str | bytes) -> Any:
    """The value of a text."""
    as_bytes = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if _LONG_NUMBER not in as_bytes.translate(_DIGITS):
        try:
            return orjson.loads(as_bytes)
        except orjson.JSONDecodeError:  # NaN and infinities are Python's own, and so are halves of surrogate pairs
            pass
    return json.loads(text)


def all_decoded(texts: Sequence[str]) -> list[Any]:
    """The values of texts, all in one piece: for short ones a call costs more than what it decodes."""
    return list(decoded(f"[{','.join(texts)}]"))
