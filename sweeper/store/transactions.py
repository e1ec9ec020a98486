"""Transactions: begun, repeated while the database is away or busy, and never twice what was recorded once."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, RowMapping, Select
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from sweeper.errors import LostTrialError, StoreError
from sweeper.store.turns import BUSY_TIMEOUT_S, begin_writing, is_busy, turns_of
from sweeper.store.untouched import Reading

logger = logging.getLogger(__name__)

T = TypeVar("T")
_PATIENCE_S = 50.0  # less than a lease: whoever comes back in time still holds what it runs
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 2.0
_GOING_AWAY = ("57P01", "57P02", "57P03")  # PostgreSQL's codes for a server that is shut down, crashes, or comes up
_CHOSEN_TO_YIELD = ("40001", "40P01")  # and for who had to give way to others, in a ring of waits for instance
_DISK_FULL = "53100"


class Transactions:
    """Runs functions of a connection as transactions of one database; with `reads_only` it is left untouched."""

    def __init__(self, engine: Engine, name: str, *, reads_only: bool = False) -> None:
        self._engine, self._name, self._reads_only = engine, name, reads_only
        self._sqlite = engine.dialect.name == "sqlite"
        self._turns = turns_of(Path(engine.url.database or "")) if self._sqlite and not reads_only else None
        self._gave_up = False

    def read(self, work: Callable[[Connection], T]) -> T:
        """What `work` returns; on SQLite it sees one state of the database."""
        return self._run(work, None, writes=False)

    def rows(self, query: Select[Any]) -> Sequence[RowMapping]:
        """The rows of a query, in a transaction of their own."""
        return self.read(lambda connection: connection.execute(query).mappings().all())

    def write(self, work: Callable[[Connection], T], is_recorded: Callable[[Connection, T], bool] | None = None) -> T:
        """What `work` returns, when all that it wrote is recorded.

        Where the connection is lost `work` is called again, on another one. When it is lost while the database says
        whether it has recorded all, it may have: `is_recorded` then tells so, given what `work` had returned. Without
        it `work` must be one that may be done twice.

        Raises:
            StoreError: the store is open for reading only, or the database refuses.
        """
        if self._reads_only:
            raise StoreError(f"store {self._name}: is open for reading only", "open it with `open_store` to change it")
        with self._turn():
            return self._run(work, is_recorded, writes=True)

    def _turn(self) -> AbstractContextManager[None]:
        return self._turns.turn() if self._turns else nullcontext()

    def _run(
        self, work: Callable[[Connection], T], is_recorded: Callable[[Connection, T], bool] | None, *, writes: bool
    ) -> T:
        # Whoever has waited in vain once gives the next transactions one try each, until one succeeds.
        patience_s = _PATIENCE_S - (BUSY_TIMEOUT_S if self._sqlite else 0)  # a try may wait in SQLite for so long
        deadline = time.monotonic() + (0.0 if self._gave_up else patience_s)
        pause_s = _FIRST_PAUSE_S
        unsure: list[T] = []  # what `work` returned before a commit that was not confirmed
        while True:
            try:
                answer = self._try(work, is_recorded, unsure, writes)
            except LostTrialError:
                if not unsure or time.monotonic() > deadline:
                    raise
            except (SQLAlchemyError, OverflowError, UnicodeError) as error:  # the latter two from SQLite's driver
                # A refusal of what may be recorded already is, most likely, because it is by now.
                passes = _passes(error) or (bool(unsure) and isinstance(error, IntegrityError))
                if not passes or time.monotonic() > deadline:
                    self._gave_up = passes
                    raise self._refusal(error) from error
                if pause_s == _FIRST_PAUSE_S:
                    logger.warning("store %s: %s; trying again", self._name, _cause(error))
            else:
                self._gave_up = False
                return answer
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _try(
        self,
        work: Callable[[Connection], T],
        is_recorded: Callable[[Connection, T], bool] | None,
        unsure: list[T],
        writes: bool,
    ) -> T:
        if self._reads_only:
            return read_once(self._engine, work)
        with self._engine.connect() as connection, connection.begin() as transaction:
            if self._sqlite:  # its driver begins a transaction at the first change only, when others may be at it
                begin_writing(connection) if writes else connection.exec_driver_sql("BEGIN")
            if is_recorded and unsure and is_recorded(connection, unsure[0]):
                return unsure[0]
            answer = work(connection)
            if is_recorded:
                unsure[:] = [answer]
            transaction.commit()
        return answer

    def _refusal(self, error: Exception) -> StoreError:
        if self._reads_only:
            remedy = "check that it exists and that you may read it"
            return StoreError(f"store {self._name}: cannot be read ({_cause(error)})", remedy)
        remedy = "make room on its disk" if _is_full(error) else "check the disk, the permissions and the server"
        return StoreError(f"store {self._name}: {_cause(error)}", f"{remedy}; what is written stays")


def read_once(engine: Engine, work: Callable[[Connection], T]) -> T:
    """What `work` returns, in a transaction of an engine that only reads.

    It is called again where a SQLite file was written meanwhile that nobody had open before.
    """
    while True:
        with engine.connect() as connection:  # there is nothing to commit
            driver = connection.connection.driver_connection
            if isinstance(driver, Reading):
                connection.exec_driver_sql("BEGIN")
            try:
                answer = work(connection)
            except SQLAlchemyError:
                if not isinstance(driver, Reading) or driver.is_current():
                    raise
            else:
                if not isinstance(driver, Reading) or driver.is_current():
                    return answer


def through_a_restart(work: Callable[[], T]) -> T:
    """What `work` returns, which opens a store: called again where the server was there, and is just being restarted.

    Nobody waits for a server that does not answer in the first place: its address may be wrong.
    """
    deadline = time.monotonic() + _PATIENCE_S
    restarts = False
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            return work()
        except DBAPIError as error:
            told = getattr(error.orig, "sqlstate", None) in _GOING_AWAY
            restarts |= told or error.connection_invalidated
            if not restarts or not _passes(error) or time.monotonic() > deadline:
                raise
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def _passes(error: Exception) -> bool:
    """Whether the database did not take part: it is away, going away, coming up, or busy."""
    if not isinstance(error, DBAPIError):
        return False
    if isinstance(error.orig, sqlite3.Error):
        return is_busy(error.orig)
    state = getattr(error.orig, "sqlstate", None)
    from psycopg import OperationalError

    # Without a code it comes from the client's side: no connection, or one that broke.
    return state in (*_GOING_AWAY, *_CHOSEN_TO_YIELD) or (state is None and isinstance(error.orig, OperationalError))


def _is_full(error: Exception) -> bool:
    original = getattr(error, "orig", None)
    codes = getattr(original, "sqlite_errorcode", None), getattr(original, "sqlstate", None)
    return codes[0] == sqlite3.SQLITE_FULL or codes[1] == _DISK_FULL


def _cause(error: Exception) -> str:
    return " ".join(str(getattr(error, "orig", None) or error).split())
