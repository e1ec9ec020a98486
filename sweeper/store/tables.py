"""The tables. Columns that other programs read keep their names (README, "Store")."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    false,
)
from sqlalchemy.dialects import postgresql

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# JSON text keeps the order of its keys and every digit of a float on both databases; PostgreSQL's JSONB does neither.
_DOUBLE = Float(53)


def without_sign_of_zero(value: float) -> float:
    """-0.0 as 0.0, which is what SQLite makes of it: both databases give the same."""
    return value + 0.0


class Double(TypeDecorator[float]):
    """A double, the same to the last bit on both databases."""

    impl = _DOUBLE
    cache_ok = True

    def process_bind_param(self, value: float | None, dialect: Dialect) -> float | None:
        """A zero has no sign."""
        return None if value is None else without_sign_of_zero(value)


class AnyDouble(TypeDecorator[float]):
    """A number of any kind, NaN and infinities too. SQLite has no NaN and keeps it as NULL."""

    impl = _DOUBLE
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> Any:
        """PostgreSQL's own double holds them all."""
        return dialect.type_descriptor(postgresql.DOUBLE_PRECISION() if dialect.name == "postgresql" else _DOUBLE)

    def process_bind_param(self, value: float | None, dialect: Dialect) -> float | None:
        """NaN becomes NULL where the database cannot hold it; a zero has no sign."""
        if value is None or (math.isnan(value) and dialect.name == "sqlite"):
            return None
        return without_sign_of_zero(value)

    def process_result_value(self, value: float | None, dialect: Dialect) -> float | None:
        """NULL is NaN: such a column holds no missing values."""
        return math.nan if value is None else float(value)


class Words(TypeDecorator[str]):
    """Text of any origin, such as a dying process's last words.

    What a database cannot hold, a NUL or half of a surrogate pair, becomes U+FFFD.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Replace what cannot be held."""
        if value is None:
            return None
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")


class Utc(TypeDecorator[datetime]):
    """A moment in UTC; databases without time zones keep it naive."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """What comes back without a zone is UTC, and another zone's is converted."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


sweep = Table(
    "sweep",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", String(200), nullable=False, index=True),
    Column("origin", String(16), nullable=False),
    Column("spec", JSON, nullable=True),
    Column("threshold", Double, nullable=True),
    Column("over", String(16), nullable=False),
    Column("group_by", JSON, nullable=False),
    Column("created_at", Utc, nullable=False),
    Column("stop_asked_at", Utc, nullable=True),
)

# Whoever runs trials; those whose `scheduler_id` is none of a live lease have been left behind.
scheduler = Table(
    "scheduler",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("host", String(200), nullable=False),
    Column("process", String(200), nullable=False),
    Column("started_at", Utc, nullable=False),
    Column("lease_until", Utc, nullable=False),
)

# Sweeps that a service runs; `problem` says why one cannot be.
submission = Table(
    "submission",
    metadata,
    Column("key", String(200), primary_key=True),
    Column("sweep_id", ForeignKey("sweep.id", ondelete="CASCADE"), nullable=False, unique=True),
    Column("digest", String(64), nullable=False),
    Column("submitted_at", Utc, nullable=False),
    Column("problem", JSON(none_as_null=True), nullable=True),
)

trial = Table(
    "trial",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("sweep_id", ForeignKey("sweep.id", ondelete="CASCADE"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("workers", Integer, nullable=False),
    Column("parameters", JSON, nullable=False),
    Column("config", JSON, nullable=False),
    Column("resources", JSON, nullable=False),
    Column("state", String(16), nullable=False),
    Column("reason", Words, nullable=False, default=""),
    Column("attempt", Integer, nullable=False, default=0),
    Column("points", Integer, nullable=False, default=0),
    Column("finite", Boolean, nullable=False, default=True),
    Column("minimum_loss", Double, nullable=True),
    Column("final_loss", Double, nullable=True),
    Column("seconds", Double, nullable=True),
    Column("images", BigInteger, nullable=True),
    Column("steps", BigInteger, nullable=True),
    Column("area_seconds", Double, nullable=True),
    Column("area_images", Double, nullable=True),
    Column("area_steps", Double, nullable=True),
    Column("scheduler_id", String(32), nullable=True),
    Column("oversubscribed", Boolean, nullable=False, default=False, server_default=false()),
    Column("derived_from", String(64), nullable=True),  # whose losses it has
    Index(None, "sweep_id", "state", "workers", "position"),  # counts by state, and the next ones that wait
)

gang = Table(
    "gang",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("sweep_id", ForeignKey("sweep.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("workers", Integer, nullable=False),
    Column("hosts", JSON, nullable=False),
    Column("pids", JSON, nullable=False),
    Column("versions", JSON, nullable=False),
    Column("started_at", Utc, nullable=False),
)

attempt = Table(
    "attempt",
    metadata,
    Column("trial_id", ForeignKey("trial.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("gang_id", ForeignKey("gang.id", ondelete="SET NULL"), nullable=True),
    Column("state", String(16), nullable=False),
    Column("reason", Words, nullable=False, default=""),
    Column("traceback", Words, nullable=False, default=""),
    Column("effective", JSON, nullable=False, default=dict),
    Column("startup_seconds", Double, nullable=True),
    Column("setup_seconds", Double, nullable=True),
    Column("log", Words, nullable=False, default=""),
    Column("started_at", Utc, nullable=False),
    Column("ended_at", Utc, nullable=True),
)


def _of_attempt(**kept: Any) -> list[Any]:
    """Whose attempt a row is of; `kept` says where the database has a key for it."""
    key = ForeignKeyConstraint(["trial_id", "attempt"], ["attempt.trial_id", "attempt.number"], ondelete="CASCADE")
    return [
        Column("trial_id", String(64), primary_key=True),
        Column("attempt", Integer, primary_key=True),
        key.ddl_if(**kept) if kept else key,
    ]


loss_point = Table(
    "loss_point",
    metadata,
    *_of_attempt(dialect="sqlite"),  # PostgreSQL has triggers for it, which cost a third as much (migration 0008)
    Column("step", BigInteger, primary_key=True, autoincrement=False),
    Column("images", BigInteger, nullable=True),
    Column("seconds", AnyDouble, nullable=True),  # NaN in an imported log without times
    Column("loss", AnyDouble, nullable=True),
    sqlite_with_rowid=False,  # the key is the table: half the pages of a table with an index beside it
)

phase = Table(
    "phase",
    metadata,
    *_of_attempt(),
    Column("name", String(32), primary_key=True),
    Column("seconds", Double, nullable=False),
)

evaluation = Table(
    "evaluation",
    metadata,
    *_of_attempt(),
    Column("step", BigInteger, primary_key=True, autoincrement=False),
    Column("images", BigInteger, nullable=True),
    Column("seconds", AnyDouble, nullable=True),
    Column("loss", AnyDouble, nullable=True),
    Column("accuracy", AnyDouble, nullable=True),
)

# What the ranks of an attempt printed, without so many bytes before; no row where they printed nothing.
printed = Table(
    "printed",
    metadata,
    *_of_attempt(),
    Column("omitted", BigInteger, nullable=False),
    Column("text", Words, nullable=False),
)
