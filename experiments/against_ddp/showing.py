"""Tables and figures of the study."""

from __future__ import annotations

from experiments.study import Study


def show(study: Study) -> None:
    """Make all of them."""
