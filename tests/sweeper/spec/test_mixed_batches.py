"""Listed settings with batch sizes of each worker and of all workers: weak and strong scaling in one sweep."""

from __future__ import annotations

from typing import Any

import pytest

from sweeper.errors import SpecError
from sweeper.plan import plan, written_trials
from sweeper.spec import SweepSpec, parse_spec
from sweeper.store import Store

BOTH = [{"batch_size": 64}, {"global_batch_size": 64}]


def spec_of(space: Any, **fields: Any) -> SweepSpec:
    return parse_spec({"name": "mine", "space": space, **fields})


def sizes(spec: SweepSpec) -> list[tuple[int, Any, Any]]:
    """Workers and the two batch sizes of each trial."""
    parameters = [trial.parameters for trial in plan(spec)]
    return [(one["workers"], one.get("batch_size"), one.get("global_batch_size")) for one in parameters]


def test_settings_of_both_kinds_are_trials_of_both_kinds() -> None:
    spec = spec_of({"points": [{"workers": 2, "batch_size": 32}, {"workers": 4, "global_batch_size": 64}]})
    assert sizes(spec) == [(2, 32, None), (4, None, 64)]
    assert [trial.config.global_batch(trial.workers) for trial in plan(spec)] == [64, 64]  # type: ignore[union-attr]


def test_null_may_be_written() -> None:
    written = [{"batch_size": 64, "global_batch_size": None}, {"batch_size": None, "global_batch_size": 64}]
    assert sizes(spec_of({"points": written, "workers": [2]})) == sizes(spec_of({"points": BOTH, "workers": [2]}))


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        ({"points": BOTH, "workers": [1, 2]}, [(1, 64, None), (2, 64, None), (2, None, 64)]),
        ({"points": BOTH[::-1], "workers": [1, 2]}, [(1, 64, None), (2, None, 64), (2, 64, None)]),
        (
            {"points": [{"batch_size": 64}, {"global_batch_size": 128}], "workers": [1]},
            [(1, 64, None), (1, None, 128)],
        ),
        ({"points": [{"workers": 1, **one} for one in BOTH]}, [(1, 64, None)]),
        (
            {"points": [{"batch_size": 32}, {"global_batch_size": 64}], "workers": [1, 2, 3]},
            [(1, 32, None), (1, None, 64), (2, 32, None), (3, 32, None), (3, None, 64)],
        ),
    ],
)
def test_what_both_sizes_say_is_run_once(space: Any, expected: list[Any], store: Store) -> None:
    spec = spec_of(space)
    assert sizes(spec) == expected
    assert len(plan(spec)) == spec.size == len(expected)
    assert len({one.key for one in written_trials(plan(spec))}) == len(expected)
    assert len(store.trials.of(store.sweeps.add(spec, plan(spec)))) == len(expected)


def test_a_rate_of_its_own_makes_another_trial_of_one_worker() -> None:
    settings = [{"batch_size": 64, "learning_rate": 0.1}, {"global_batch_size": 64, "learning_rate": 0.2}]
    assert len(plan(spec_of({"points": settings, "workers": [1]}))) == 2


def test_it_is_read_again_as_it_was_stored() -> None:
    spec = spec_of({"points": BOTH, "workers": [1, 2, 4], "seed": [1, 2]})
    again = parse_spec(spec.model_dump(mode="json"))
    assert again == spec
    assert plan(again) == plan(spec)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (
            [*BOTH, {"batch_size": 64, "global_batch_size": 64}],
            "space.points[2]: batch_size and global_batch_size excl",
        ),
        ([{"batch_size": None, "global_batch_size": None}], "space.points[0]: has no batch size; give batch_size or"),
        ([*BOTH, {"momentum": 0.5}], "space.points[2]: not all settings have"),
    ],
)
def test_a_setting_has_one_size(settings: Any, line: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec_of({"points": settings, "workers": [2]})
    assert line in caught.value.problems[0]
    assert len(caught.value.problems) == 1


def test_one_in_settings_and_one_beside_them_still_exclude_each_other() -> None:
    with pytest.raises(SpecError, match="batch_size and global_batch_size exclude each other"):
        spec_of({"points": [{"batch_size": 16}], "global_batch_size": [32]})


def test_the_words_of_a_command_are_its_own() -> None:
    words = ["train", "{batch_size}", "{global_batch_size}"]
    settings = [{"batch_size": 1, "global_batch_size": 1}, {"batch_size": 2, "global_batch_size": 2}]
    spec = spec_of({"points": settings}, trial={"command": words})
    assert [trial.config.words(1) for trial in plan(spec)] == [["train", "1", "1"], ["train", "2", "2"]]  # type: ignore[union-attr]
