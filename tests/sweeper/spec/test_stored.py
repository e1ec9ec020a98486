"""Specs as stores have them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from sweeper.plan import plan
from sweeper.spec import StoredSpec, parse_config, parse_spec
from sweeper.spec.stored import config_as_meant, spec_as_meant


def test_an_import_has_the_defaults() -> None:
    spec = StoredSpec(None)
    assert (spec.prune.method, spec.reuse, spec.search.method, spec.retries, spec.rate) == (
        "none",
        "none",
        "grid",
        0,
        None,
    )


def test_instances_of_an_earlier_version_count_themselves() -> None:
    old = {"flip": True, "instances": 4}
    for batch, written in (("instances", old), ("samples", {**old, "batch": "samples"})):
        assert parse_config(config_as_meant({"augmentation": written})).augmentation.batch == batch  # type: ignore[union-attr]
    once = {"augmentation": {"flip": True, "instances": 1}}
    assert config_as_meant(once) == once
    others: list[dict[str, Any]] = [{"command": ["true"]}, {"augmentation": {}}, {}]
    for other in others:
        assert config_as_meant(other) == other


def test_a_spec_of_an_earlier_version_keeps_its_meaning() -> None:
    once = {"flip": False, "shift": 1, "cutout": 0, "instances": 1}
    space = {"augmentation.instances": [1, 4], "workers": [1]}
    old = {"name": "old", "trial": {"model": "mlp", "augmentation": once}, "space": space}
    meant = spec_as_meant(old)
    assert meant
    assert [t.config.augmentation.copies for t in plan(parse_spec(meant))] == [1, 1]  # type: ignore[union-attr]
    assert [t.config.augmentation.copies for t in plan(parse_spec(old))] == [1, 4], "as a spec of today"  # type: ignore[union-attr]
    today = parse_spec(old).model_dump(mode="json")
    assert spec_as_meant(today) == today
    assert spec_as_meant(None) is None


def test_a_part_that_nobody_can_read_leaves_the_others_readable() -> None:
    spec = StoredSpec({"prune": "by-a-later-version", "retries": 2})
    assert (spec.retries, spec.search.method) == (2, "grid")
    with pytest.raises(ValidationError):
        _ = spec.prune
