"""The store: one object for each group of its tables."""

from __future__ import annotations

from sqlalchemy import Engine

from sweeper.store.attempts import Attempts
from sweeper.store.connection import complete_file, connect, connect_to_read, hidden
from sweeper.store.leases import Leases
from sweeper.store.progress import Progress
from sweeper.store.submissions import Submissions
from sweeper.store.sweeps import Sweeps
from sweeper.store.transactions import Transactions
from sweeper.store.trials import Trials
from sweeper.store.views import Views

DEFAULT_URL = "sqlite:///sweeper.db"


def open_store(url: str = DEFAULT_URL, *, create: bool = True) -> Store:
    """The store at a SQLAlchemy URL, to write to it; where there is none it is made, or refused without `create`.

    Raises:
        StoreError: see `sweeper.store.connection.connect`.
    """
    return Store(connect(url, create=create), hidden(url))


def read_store(url: str = DEFAULT_URL) -> Store:
    """The store at a SQLAlchemy URL, to read it: it is left untouched, and methods that write raise StoreError.

    Raises:
        StoreError: see `sweeper.store.connection.connect_to_read`.
    """
    return Store(connect_to_read(url), hidden(url), reads_only=True)


class Store:
    """What is recorded: `sweeps`, their `trials`, the `attempts` at these with all that they report, and `leases`.

    `submissions` are the sweeps of services, `progress` is for live pages, `views` has what else pages ask for.

    Every method of these objects is one transaction, callable from any thread and from many processes at once. While
    the database is away or busy a method waits for most of a minute; what was recorded before it went is not recorded
    twice. Each raises StoreError when the database refuses, or stays away, with what it said.
    """

    def __init__(self, engine: Engine, name: str, *, reads_only: bool = False) -> None:
        self._engine, self.name, self.reads_only = engine, name, reads_only
        # For what else in this package reads and writes:
        self.transactions = Transactions(engine, name, reads_only=reads_only)
        self.sweeps, self.trials = Sweeps(self.transactions, name), Trials(self.transactions, name)
        self.attempts, self.leases = Attempts(self.transactions), Leases(self.transactions)
        self.submissions, self.progress = Submissions(self.transactions), Progress(self.transactions)
        self.views = Views(self.transactions)

    def close(self) -> None:
        """Give the connections back."""
        if not self.reads_only:
            complete_file(self._engine)
        self._engine.dispose()
