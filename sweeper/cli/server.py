"""Options of commands that may ask a service instead of a store."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from sweeper.client import Client
from sweeper.errors import UsageError

TOKEN_VARIABLE = "SWEEPER_TOKEN"


@dataclass(frozen=True)
class Server:
    """A service: its address, and the file of a token."""

    url: str
    token_file: Path | None

    def client(self) -> Client:
        """A client with the token of the file, else of SWEEPER_TOKEN. Raises UsageError, ServerError."""
        return Client(self.url, self._token())

    def _token(self) -> str | None:
        if self.token_file is None:
            return os.environ.get(TOKEN_VARIABLE, "").strip() or None
        try:
            lines = self.token_file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or "no text"
            raise UsageError(f"--token-file {self.token_file}: cannot be read ({why})", "name a file") from None
        words = next((line.split() for line in lines if line.strip() and not line.lstrip().startswith("#")), [])
        if not words:
            raise UsageError(f"--token-file {self.token_file}: holds no token", "write one into it")
        return words[1] if words[0] in ("read", "submit") and len(words) > 1 else words[0]


def server_options(*, required: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--server URL`, `--token-file FILE`: the command gets one `server`, None where none is named."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def gathered(server_url: str | None, token_file: Path | None, **others: Any) -> Any:
            return function(server=Server(server_url, token_file) if server_url else None, **others)

        token = click.option(
            "--token-file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help=f"File with the server's token; default: {TOKEN_VARIABLE} of the environment.",
        )
        address = click.option(
            "--server",
            "server_url",
            metavar="URL",
            envvar="SWEEPER_SERVER",
            show_envvar=True,
            required=required,
            help="Ask this service, such as http://127.0.0.1:8400" + ("." if required else ", instead of a store."),
        )
        return address(token(gathered))

    return decorate
