"""Seeds that `sweeper extend --seeds` adds run to their end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sweeper.guides.base import Guide
from sweeper.guides.further_seeds import FurtherSeeds
from sweeper.ranking.area_bound import Verdict
from sweeper.ranking.curve import LossPoint
from sweeper.spec import parse_spec
from sweeper.spec.stored import StoredSpec

POINT = LossPoint(1, 1, 1.0, 1.0)


class StopsAll(Guide):
    """Stops and gives up every trial."""

    def point(self, trial: str, point: LossPoint) -> Verdict | None:
        return f"{trial} at {point.step}"

    def given_up(self, waiting: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
        return dict.fromkeys(waiting, "why")


def stored(**changed: Any) -> StoredSpec:
    written = {"name": "s", "space": {"learning_rate": [0.1], "workers": [1]}, **changed}
    return StoredSpec(parse_spec(written).model_dump(mode="json"))


def stopped(spec: StoredSpec, seeds: list[int | None]) -> list[bool]:
    trials = {f"t{n}": {"workers": 1} | ({} if seed is None else {"seed": seed}) for n, seed in enumerate(seeds)}
    known, waiting = dict(list(trials.items())[:2]), dict(list(trials.items())[2:])
    guide = FurtherSeeds(StopsAll(), spec, known)
    given_up = guide.given_up(waiting)
    told = [bool(guide.point(trial, POINT)) for trial in trials]
    assert told[2:] == [trial in given_up for trial in waiting]
    return told


def test_only_seeds_beyond_those_of_the_spec_run_to_their_end() -> None:
    assert stopped(stored(), [None, 1, 0, 2]) == [True, False, True, False]
    assert stopped(stored(repeats=2, trial={"seed": 5}), [5, 6, 7, 8]) == [True, True, False, False]
    assert all(stopped(stored(repeats="auto"), [0, 1, 2, 3])), "a race judges its own"
    assert all(stopped(stored(space={"seed": [0, 1, 2, 3], "workers": [1]}), [0, 1, 2, 3])), "swept seeds are settings"
    points = {"points": [{"seed": 1, "workers": 1}, {"seed": 2, "workers": 1}]}
    assert all(stopped(stored(space=points), [1, 2, 1, 2]))
