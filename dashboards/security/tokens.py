"""Tokens: what lets somebody read, or submit; from a file or the environment, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from itsdangerous import BadSignature, TimestampSigner

from sweeper.errors import UsageError

SUBMIT_VARIABLE, READ_VARIABLE = "SWEEPER_TOKEN", "SWEEPER_READ_TOKEN"
_SHORTEST = 16  # characters
SESSION_S = 12 * 3600


class Scope(IntEnum):
    """What somebody may do; who may submit may read as well."""

    READ = 1
    SUBMIT = 2


@dataclass(frozen=True)
class Tokens:
    """Digests of the tokens that are taken, each with its scope."""

    scopes: tuple[tuple[bytes, Scope], ...]

    @classmethod
    def of(cls, tokens: Mapping[str, Scope]) -> Tokens:
        """Of the tokens themselves.

        Raises:
            UsageError: a token that is too short to be one.
        """
        if any(len(token) < _SHORTEST for token in tokens):
            remedy = f"make one of at least {_SHORTEST}, as by `openssl rand -hex 24`"
            raise UsageError(f"token: one has fewer than {_SHORTEST} characters", remedy)
        return cls(tuple((_digest(token), scope) for token, scope in tokens.items()))

    def scope_of(self, token: str) -> Scope | None:
        """What the token lets its holder do; None where it is none of these. Takes as long for each."""
        found, digest = None, _digest(token)
        for known, scope in self.scopes:
            if hmac.compare_digest(known, digest):
                found = scope
        return found

    def session(self, scope: Scope) -> str:
        """What a browser keeps in place of a token: the scope and the moment, signed."""
        return self._signer.sign(str(scope.value)).decode()

    def scope_of_session(self, session: str) -> Scope | None:
        """The scope of a session that this server began less than twelve hours ago; None for anything else."""
        try:
            return Scope(int(self._signer.unsign(session.encode("utf-8", "replace"), max_age=SESSION_S)))
        except BadSignature:  # SignatureExpired is one, too
            return None

    @property
    def _signer(self) -> TimestampSigner:
        """Its key is all tokens together: other tokens end all sessions."""
        key = b"".join(digest for digest, _ in self.scopes)
        return TimestampSigner(key, salt="sweeper-session", digest_method=hashlib.sha256)


def read_tokens(path: Path | None, environment: Mapping[str, str] = os.environ) -> Tokens | None:
    """The tokens of a file, or of SWEEPER_TOKEN (submit) and SWEEPER_READ_TOKEN; None where there are none.

    A line of the file is a token, which may submit, or `read` or `submit` and a token. Lines that begin with # count
    for nothing.

    Raises:
        UsageError: a file that cannot be read, or holds no token; a line or token that is none.
    """
    if path is not None:
        return Tokens.of(_of_file(path))
    given = {READ_VARIABLE: Scope.READ, SUBMIT_VARIABLE: Scope.SUBMIT}
    found = {environment[name].strip(): scope for name, scope in given.items() if environment.get(name, "").strip()}
    return Tokens.of(found) if found else None


def _of_file(path: Path) -> dict[str, Scope]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "no text"
        raise UsageError(f"--token-file {path}: cannot be read ({why})", "name a file with a token") from None
    found: dict[str, Scope] = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) > 2 or (len(words) == 2 and words[0] not in ("read", "submit")):
            raise UsageError(f"--token-file {path}: line {number} is no token", "write TOKEN, or read TOKEN")
        found[words[-1]] = Scope.READ if words[0] == "read" and len(words) == 2 else Scope.SUBMIT
    if not found:
        raise UsageError(f"--token-file {path}: holds no token", "write one into it")
    return found


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
