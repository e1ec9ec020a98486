"""Areas from zero: the first loss counts for the stretch before its point."""

from alembic import op

from sweeper.store.areas import compute_areas

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Compute them anew from the points."""
    compute_areas(op.get_bind())


def downgrade() -> None:
    """They stay as they are: earlier versions read them, and the next upgrade computes them again."""
