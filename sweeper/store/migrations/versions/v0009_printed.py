"""What the ranks of an attempt printed, which was only in files beside the scheduler."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Attempts of earlier versions have none."""
    op.create_table(
        "printed",
        sa.Column("trial_id", sa.String(64), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("omitted", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("trial_id", "attempt", name="pk_printed"),
        sa.ForeignKeyConstraint(
            ["trial_id", "attempt"],
            ["attempt.trial_id", "attempt.number"],
            name="fk_printed_trial_id_attempt",
            ondelete="CASCADE",
        ),
        if_not_exists=True,
    )


def downgrade() -> None:
    """Forget it."""
    op.drop_table("printed")
