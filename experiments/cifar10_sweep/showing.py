"""Tables and figures of the study."""

from __future__ import annotations

from experiments.study import Study
from sweeper.answers.best import best_answer


def show(study: Study) -> None:
    """Make all of them."""
    with study.reading() as store:
        rows = [
            [group["group"]["workers"], (group["winner"] or {}).get("area")]
            for sweep in store.sweeps.all()
            for group in best_answer(store, sweep.id)["groups"]
        ]
    study.table("winners", ["workers", "area"], rows)
