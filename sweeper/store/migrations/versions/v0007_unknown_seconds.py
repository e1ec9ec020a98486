"""Points and evaluations of imported runs that do not say their seconds, their images, or an accuracy."""

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Let them be unknown; SQLite cannot alter a column, so there the rows go into new tables."""
    with op.batch_alter_table("loss_point", table_kwargs={"sqlite_with_rowid": False}) as points:
        points.alter_column("seconds", nullable=True)
    with op.batch_alter_table("evaluation") as evaluations:
        for name in ("images", "seconds", "accuracy"):
            evaluations.alter_column(name, nullable=True)


def downgrade() -> None:
    """What is unknown stays so: no earlier version reads it."""
