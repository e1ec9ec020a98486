"""The spec that users write: pydantic models, axes and points, the file, and the wording of its errors."""

from __future__ import annotations

from sweeper.spec.models import (
    BY_LOSS,
    DOLLARS,
    OVER,
    Limits,
    Objective,
    Over,
    Prune,
    Resources,
    SweepSpec,
    field_value,
    parse_config,
    parse_spec,
    prune_by_name,
    replace_field,
    sweepable_fields,
)
from sweeper.spec.stored import StoredSpec

__all__ = [
    "BY_LOSS",
    "DOLLARS",
    "OVER",
    "Limits",
    "Objective",
    "Over",
    "Prune",
    "Resources",
    "StoredSpec",
    "SweepSpec",
    "field_value",
    "parse_config",
    "parse_spec",
    "prune_by_name",
    "replace_field",
    "sweepable_fields",
]
