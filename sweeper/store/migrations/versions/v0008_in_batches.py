"""What comes in great numbers is dealt with in batches: loss points as they come, and trials that wait.

An index finds the next trials that wait, by workers and in the order of the plan, however many there are.

On PostgreSQL, loss points are checked a statement at a time: a foreign key, row by row, takes half of a COPY's time.
Triggers keep what the key kept. Points belong to an attempt that exists, and go with it. SQLite keeps its key, which
costs little there.
"""

from alembic import op

revision = "0008"
down_revision = "0007"

# The attempts are locked as a foreign key does it: an attempt whose points are being written cannot go meanwhile.
_CHECK = """
    CREATE OR REPLACE FUNCTION sweeper_check_points() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    DECLARE
        missing record;
    BEGIN
        SELECT trial_id, attempt INTO missing FROM (SELECT DISTINCT trial_id, attempt FROM added) AS named
        WHERE NOT EXISTS (
            SELECT FROM attempt AS made
            WHERE made.trial_id = named.trial_id AND made.number = named.attempt FOR KEY SHARE
        ) LIMIT 1;
        IF FOUND THEN
            RAISE foreign_key_violation USING
                MESSAGE = format('trial %s has no attempt %s for loss points', missing.trial_id, missing.attempt),
                SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, CONSTRAINT = 'fk_loss_point_trial_id_attempt';
        END IF;
        RETURN NULL;
    END $$
"""
_REMOVE = """
    CREATE OR REPLACE FUNCTION sweeper_remove_points() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    BEGIN
        DELETE FROM loss_point AS point USING gone
        WHERE point.trial_id = gone.trial_id AND point.attempt = gone.number;
        RETURN NULL;
    END $$
"""
_WAITING = "ix_trial_sweep_id_state_workers_position"
_KEY = "fk_loss_point_trial_id_attempt"
_TRIGGERS = (  # name, table, what it sees, and its function
    ("points_added", "loss_point", "AFTER INSERT ON loss_point REFERENCING NEW TABLE AS added", "check"),
    ("points_changed", "loss_point", "AFTER UPDATE ON loss_point REFERENCING NEW TABLE AS added", "check"),
    ("attempts_removed", "attempt", "AFTER DELETE ON attempt REFERENCING OLD TABLE AS gone", "remove"),
)


def upgrade() -> None:
    """Make the index longer, and put triggers in the place of the key."""
    op.execute("DROP INDEX IF EXISTS ix_trial_sweep_id_state")
    op.create_index(_WAITING, "trial", ["sweep_id", "state", "workers", "position"], if_not_exists=True)
    if op.get_bind().dialect.name != "postgresql":
        return
    op.execute(_CHECK)
    op.execute(_REMOVE)
    for name, table, when, does in _TRIGGERS:
        op.execute(f"DROP TRIGGER IF EXISTS {name} ON {table}")
        op.execute(f"CREATE TRIGGER {name} {when} FOR EACH STATEMENT EXECUTE FUNCTION sweeper_{does}_points()")
    op.execute(f"ALTER TABLE loss_point DROP CONSTRAINT IF EXISTS {_KEY}")


def downgrade() -> None:
    """Put index and key back."""
    op.drop_index(_WAITING, "trial")
    op.create_index("ix_trial_sweep_id_state", "trial", ["sweep_id", "state"])
    if op.get_bind().dialect.name != "postgresql":
        return
    columns = (["trial_id", "attempt"], ["trial_id", "number"])
    op.create_foreign_key(_KEY, "loss_point", "attempt", *columns, ondelete="CASCADE")
    for name, table, _, _ in _TRIGGERS:
        op.execute(f"DROP TRIGGER {name} ON {table}")
    op.execute("DROP FUNCTION sweeper_check_points(), sweeper_remove_points()")
