"""Trials whose losses are another one's."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Earlier versions trained every trial."""
    op.add_column("trial", sa.Column("derived_from", sa.String(64), nullable=True))


def downgrade() -> None:
    """Forget which."""
    op.drop_column("trial", "derived_from")
