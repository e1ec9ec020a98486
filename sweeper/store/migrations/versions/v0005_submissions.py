"""Sweeps that a service runs."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Earlier versions had no service."""
    op.create_table(
        "submission",
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("sweep_id", sa.String(32), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("submitted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("problem", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("key", name="pk_submission"),
        sa.ForeignKeyConstraint(["sweep_id"], ["sweep.id"], name="fk_submission_sweep_id", ondelete="CASCADE"),
        sa.UniqueConstraint("sweep_id", name="uq_submission_sweep_id"),
    )


def downgrade() -> None:
    """Forget which these are."""
    op.drop_table("submission")
