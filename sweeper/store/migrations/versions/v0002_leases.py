"""Schedulers and their leases, who runs a trial, and the wish to stop a sweep."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Trials that were running under the version before have no owner, and so count as left behind."""
    op.create_table(
        "scheduler",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("host", sa.String(length=200), nullable=False),
        sa.Column("process", sa.String(length=200), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_scheduler"),
    )
    op.add_column("trial", sa.Column("scheduler_id", sa.String(length=32), nullable=True))
    op.add_column("sweep", sa.Column("stop_asked_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Forget who runs what."""
    op.drop_column("sweep", "stop_asked_at")
    op.drop_column("trial", "scheduler_id")
    op.drop_table("scheduler")
