"""Specs as stores have them."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from sweeper.spec import StoredSpec


def test_an_import_has_the_defaults() -> None:
    spec = StoredSpec(None)
    assert (spec.prune.method, spec.reuse, spec.search.method, spec.retries, spec.rate) == (
        "none",
        "none",
        "grid",
        0,
        None,
    )


def test_a_part_that_nobody_can_read_leaves_the_others_readable() -> None:
    spec = StoredSpec({"prune": "by-a-later-version", "retries": 2})
    assert (spec.retries, spec.search.method) == (2, "grid")
    with pytest.raises(ValidationError):
        _ = spec.prune
