"""Sweeps, trials, attempts, gangs, loss points, phases and evaluations."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

DOUBLE = sa.Float(53)
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create all tables."""
    op.create_table(
        "sweep",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("origin", sa.String(length=16), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=True),
        sa.Column("threshold", DOUBLE, nullable=True),
        sa.Column("over", sa.String(length=16), nullable=False),
        sa.Column("group_by", sa.JSON(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sweep"),
    )
    op.create_index("ix_sweep_name", "sweep", ["name"], unique=False)
    op.create_table(
        "gang",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("sweep_id", sa.String(length=32), nullable=False),
        sa.Column("workers", sa.Integer(), nullable=False),
        sa.Column("hosts", sa.JSON(), nullable=False),
        sa.Column("pids", sa.JSON(), nullable=False),
        sa.Column("versions", sa.JSON(), nullable=False),
        sa.Column("started_at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["sweep_id"], ["sweep.id"], name="fk_gang_sweep_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_gang"),
    )
    op.create_index("ix_gang_sweep_id", "gang", ["sweep_id"], unique=False)
    op.create_table(
        "trial",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("sweep_id", sa.String(length=32), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("workers", sa.Integer(), nullable=False),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.Column("resources", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("finite", sa.Boolean(), nullable=False),
        sa.Column("minimum_loss", DOUBLE, nullable=True),
        sa.Column("final_loss", DOUBLE, nullable=True),
        sa.Column("seconds", DOUBLE, nullable=True),
        sa.Column("images", sa.BigInteger(), nullable=True),
        sa.Column("steps", sa.BigInteger(), nullable=True),
        sa.Column("area_seconds", DOUBLE, nullable=True),
        sa.Column("area_images", DOUBLE, nullable=True),
        sa.Column("area_steps", DOUBLE, nullable=True),
        sa.ForeignKeyConstraint(["sweep_id"], ["sweep.id"], name="fk_trial_sweep_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_trial"),
    )
    op.create_index("ix_trial_sweep_id_state", "trial", ["sweep_id", "state"], unique=False)
    op.create_table(
        "attempt",
        sa.Column("trial_id", sa.String(length=64), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("gang_id", sa.String(length=32), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("traceback", sa.Text(), nullable=False),
        sa.Column("effective", sa.JSON(), nullable=False),
        sa.Column("startup_seconds", DOUBLE, nullable=True),
        sa.Column("setup_seconds", DOUBLE, nullable=True),
        sa.Column("log", sa.Text(), nullable=False),
        sa.Column("started_at", MOMENT, nullable=False),
        sa.Column("ended_at", MOMENT, nullable=True),
        sa.ForeignKeyConstraint(["gang_id"], ["gang.id"], name="fk_attempt_gang_id", ondelete="SET NULL"),
        sa.ForeignKeyConstraint(["trial_id"], ["trial.id"], name="fk_attempt_trial_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trial_id", "number", name="pk_attempt"),
    )
    op.create_table(
        "evaluation",
        sa.Column("trial_id", sa.String(length=64), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("step", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("images", sa.BigInteger(), nullable=False),
        sa.Column("seconds", DOUBLE, nullable=False),
        sa.Column("loss", DOUBLE, nullable=True),
        sa.Column("accuracy", DOUBLE, nullable=False),
        sa.ForeignKeyConstraint(
            ["trial_id", "attempt"],
            ["attempt.trial_id", "attempt.number"],
            name="fk_evaluation_trial_id_attempt",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("trial_id", "attempt", "step", name="pk_evaluation"),
    )
    op.create_table(
        "loss_point",
        sa.Column("trial_id", sa.String(length=64), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("step", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("images", sa.BigInteger(), nullable=True),
        sa.Column("seconds", DOUBLE, nullable=False),
        sa.Column("loss", DOUBLE, nullable=True),
        sa.ForeignKeyConstraint(
            ["trial_id", "attempt"],
            ["attempt.trial_id", "attempt.number"],
            name="fk_loss_point_trial_id_attempt",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("trial_id", "attempt", "step", name="pk_loss_point"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "phase",
        sa.Column("trial_id", sa.String(length=64), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("seconds", DOUBLE, nullable=False),
        sa.ForeignKeyConstraint(
            ["trial_id", "attempt"],
            ["attempt.trial_id", "attempt.number"],
            name="fk_phase_trial_id_attempt",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("trial_id", "attempt", "name", name="pk_phase"),
    )


def downgrade() -> None:
    """Remove all tables, and so all that was recorded."""
    for table in ("evaluation", "phase", "loss_point", "attempt", "gang", "trial", "sweep"):
        op.drop_table(table)
