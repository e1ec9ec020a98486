"""Trials whose ranks shared cores or GPUs."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Earlier versions seated each rank on its own."""
    op.add_column("trial", sa.Column("oversubscribed", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    """Forget which."""
    op.drop_column("trial", "oversubscribed")
