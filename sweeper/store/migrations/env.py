"""Run by Alembic: migrate over the connection that the caller holds."""

from alembic import context

from sweeper.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
