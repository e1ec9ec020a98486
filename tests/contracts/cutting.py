"""A way to a PostgreSQL server on which connections are cut while a commit is under way."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_COMMIT = b"COMMIT\0"


class CuttingProxy:
    """Passes on what clients and server say, and cuts each connection at its client's commit, every other time.

    With `arrives` the server has got it and has answered, and the answer is lost; else the commit itself is lost.
    """

    def __init__(self, server: Path, *, arrives: bool) -> None:
        self._server, self._arrives = str(server), arrives
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._mutex = threading.Lock()
        self._commits = 0
        self.cuts = 0
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"postgresql://postgres@127.0.0.1:{self._listener.getsockname()[1]}/postgres?sslmode=disable"

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(self._server)
            while True:
                readable, _, _ = select.select([client, server], [], [])
                for side in readable:
                    said = side.recv(65536)
                    if not said:
                        return
                    if side is server:
                        client.sendall(said)
                    elif _COMMIT in said and self._is_cut():
                        if self._arrives:
                            server.sendall(said)
                            server.recv(65536)
                        return
                    else:
                        server.sendall(said)

    def _is_cut(self) -> bool:
        with self._mutex:
            self._commits += 1
            self.cuts += self._commits % 2
            return self._commits % 2 == 1


@contextmanager
def cutting(server: Path, *, arrives: bool) -> Iterator[CuttingProxy]:
    """Such a way, for as long as the block lasts."""
    proxy = CuttingProxy(server, arrives=arrives)
    try:
        yield proxy
    finally:
        proxy.close()
