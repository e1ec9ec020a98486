"""Schema versions, applied by Alembic when a store is made, and by `sweeper upgrade`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Engine, text

from sweeper.errors import StoreError

logging.getLogger("alembic").setLevel(logging.WARNING)

_LOCK = 0x53574545  # "SWEE": PostgreSQL's advisory lock of whoever migrates


def upgrade(engine: Engine, revision: str, before: Callable[[], object] = lambda: None) -> None:
    """Bring the schema to `revision`; processes that open a new store at the same time wait for each other.

    `before` is called when no other process can write to the store any more. Nothing changes if it raises.

    Raises:
        StoreError: the store was written by a newer version of the project.
    """
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        config.attributes["connection"] = connection
        before()
        try:
            command.upgrade(config, revision)
        except CommandError as error:
            raise StoreError(
                f"the store has a schema that this version does not know ({error})", "upgrade sweeper"
            ) from None
        connection.commit()
