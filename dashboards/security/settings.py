"""What a service lets in."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from dashboards.security.tokens import Tokens
from sweeper.errors import UsageError

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True)
class Settings:
    """The names under which the service answers, tokens, and limits; without tokens everybody may do all.

    Rates are of an address: requests a second, changes and wrong tokens a minute; None lets everything pass.
    """

    hosts: frozenset[str] = LOOPBACK
    tokens: Tokens | None = None
    largest_body: int = 4 * 1024 * 1024  # bytes; a spec has a few hundred
    requests_per_second: int | None = 200
    changes_per_minute: int | None = 120
    wrong_tokens_per_minute: int | None = 20
    secure: bool = False  # whether browsers come by https


def settings_for(address: str, names: tuple[str, ...], tokens: Tokens | None, *, secure: bool = False) -> Settings:
    """Of a service that listens on an address and is known by further names.

    Raises:
        UsageError: an address that others reach, without a token.
    """
    if not is_loopback(address) and tokens is None:
        raise UsageError(
            f"--host {address}: others can reach this address, and no token is set",
            "give --token-file FILE, or SWEEPER_TOKEN in the environment, or leave --host out",
        )
    own = set() if address in ("0.0.0.0", "::") else {address.strip("[]").lower()}
    hosts = frozenset({*LOOPBACK, *own, *(name.strip("[]").lower() for name in names)})
    return Settings(hosts=hosts, tokens=tokens, secure=secure)


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches an address."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False
