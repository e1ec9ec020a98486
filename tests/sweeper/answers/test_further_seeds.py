"""Which trials `sweeper extend --seeds` adds to a sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sweeper.answers.further_seeds import further_seeds, seeds_wanted, trials_wanted
from sweeper.errors import SpecError
from sweeper.plan import plan
from sweeper.spec import parse_spec
from sweeper.store import Store, SweepRecord, open_store

SPEC = {
    "name": "grid",
    "trial": {"seed": 7},
    "space": {"learning_rate": [0.1, 0.2, 0.3], "workers": [1, 2]},
}
COMMAND = {
    "name": "program",
    "trial": {"command": ["true", "{learning_rate}"]},
    "space": {"learning_rate": [0.1, 0.2], "workers": [1]},
}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path / 'sweeps.db'}")


def submit(store: Store, written: dict[str, Any] = SPEC) -> SweepRecord:
    spec = parse_spec(written)
    return store.sweeps.find(store.sweeps.add(spec, plan(spec)))


def group(ids: list[str], more_seeds: int | None) -> dict[str, Any]:
    """A group of a `best_answer`, of which these trials' settings cannot be ruled out."""
    return {"recommended": {"not_ruled_out": [{"trial": one} for one in ids], "more_seeds": more_seeds}}


NOTHING: dict[str, Any] = {"recommended": None}


def test_each_setting_that_is_not_ruled_out_gets_as_many_as_its_group_needs(store: Store) -> None:
    sweep = submit(store)
    one = [trial.id for trial in store.trials.of(sweep.id) if trial.workers == 1]
    two = [trial.id for trial in store.trials.of(sweep.id) if trial.workers == 2]
    groups = [group(one[:2], 3), group(two[1:], 1), NOTHING]
    assert seeds_wanted(groups) == 3
    found = further_seeds(store, sweep, groups, 3)
    assert len(found) == trials_wanted(groups, 3) == 8
    assert [(one.workers, one.parameters["learning_rate"], one.parameters["seed"]) for one in found] == [
        *((1, rate, seed) for rate in (0.1, 0.2) for seed in (8, 9, 10)),
        *((2, rate, 8) for rate in (0.2, 0.3)),
    ]
    assert store.sweeps.extend(sweep.id, found) == 8
    again = further_seeds(store, sweep, groups[:1], 1)
    assert [one.parameters["seed"] for one in again] == [11, 11], "seeds that are taken are not taken again"
    assert trials_wanted(groups, 2) == 6


def test_where_nobody_knows_how_many_would_do_as_many_are_added_as_asked_for(store: Store) -> None:
    sweep = submit(store)
    groups = [group([trial.id for trial in store.trials.of(sweep.id)][:2], None)]
    assert seeds_wanted(groups) == 2
    assert len(further_seeds(store, sweep, groups, 4)) == 8


def test_it_is_refused_where_nothing_is_to_be_told_apart(store: Store) -> None:
    sweep = submit(store)
    ids = [trial.id for trial in store.trials.of(sweep.id)]
    for groups in ([group(ids[:2], 0)], [group(ids[:1], 4)]):
        assert seeds_wanted(groups) == trials_wanted(groups, 5) == 0
        with pytest.raises(SpecError, match=f"--seeds: no group of sweep {sweep.id} needs more: .* repeats=2"):
            further_seeds(store, sweep, groups, 5)
    with pytest.raises(SpecError, match="--seeds: no group has a recommendation"):
        further_seeds(store, sweep, [NOTHING], 5)


def test_a_command_needs_a_place_for_its_seed(store: Store) -> None:
    sweep = submit(store, COMMAND)
    ids = [trial.id for trial in store.trials.of(sweep.id)]
    with pytest.raises(SpecError, match=r"trial.command: has no \{seed\}"):
        further_seeds(store, sweep, [group(ids, 1)], 1)
    trial = {"command": ["true", "{learning_rate}", "{seed}"], "values": {"seed": 3}}
    sweep = submit(store, {**COMMAND, "trial": trial})
    ids = [trial.id for trial in store.trials.of(sweep.id)]
    found = further_seeds(store, sweep, [group(ids, 1)], 1)
    assert [one.parameters["seed"] for one in found] == [4, 4]
