"""Our scheduler in a run of Ray Tune's: the winner of all, for less."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pandas", reason="ray[tune] is not installed")
pytest.importorskip("tensorboardX", reason="ray[tune] is not installed")

import ray
from ray import tune
from ray.tune.schedulers import TrialScheduler

from sweeper.integrations.ray_tune import AreaScheduler

LOSSES = {  # by rate: who falls first, who falls late, who never comes down, and who stands still
    1: [1.0, 0.6, 0.5, 0.4, 0.4, 0.4],
    2: [1.0, 1.0, 1.0, 0.6, 0.3, 0.2],
    3: [0.9, 0.9, 0.9, 0.9, 0.9, 0.9],
    4: [3.0, 3.0, 3.0, 3.0, 3.0, 0.1],
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("r")
    ray.init(address="local", num_cpus=1, include_dashboard=False, _temp_dir=str(folder), log_to_driver=False)
    yield
    ray.shutdown()


def train(config: dict[str, Any]) -> None:
    for number, loss in enumerate(config["losses"][config["rate"]]):
        tune.report({"loss": loss, "seconds": 2.0 * (number + 1)})


@pytest.mark.usefixtures("cluster")
def test_who_cannot_win_any_more_is_stopped(tmp_path: Path) -> None:
    scheduler = AreaScheduler(threshold=0.5, time_attr="seconds", group_by=["workers"])
    space = {"rate": tune.grid_search([1, 2, 3, 4]), "workers": 1, "losses": LOSSES}
    config = tune.TuneConfig(scheduler=scheduler, metric="loss", mode="min", reuse_actors=True)
    running = tune.RunConfig(storage_path=str(tmp_path), verbose=0)
    results = tune.Tuner(train, param_space=space, tune_config=config, run_config=running).fit()
    assert results.num_errors == 0
    ended = [results[number].metrics for number in range(len(results))]
    found = {metrics["config"]["rate"]: metrics["training_iteration"] for metrics in ended if metrics}
    assert found == {1: 6, 2: 4, 3: 4, 4: 2}  # the first one's area is 5.2, and theirs are larger from there on
    assert scheduler.debug_string() == "Using the exact area bound: 3 trials stopped."


def decisions(scheduler: AreaScheduler, trial: str, losses: list[float], workers: int = 1) -> int:
    """How many results of a trial, a second apart, Ray would take."""
    running = SimpleNamespace(trial_id=trial, config={"workers": workers})
    result: dict[str, float] = {}
    for number, loss in enumerate(losses, 1):
        result = {"loss": loss, "time_total_s": number, "training_iteration": number}
        if scheduler.on_trial_result(None, running, result) == TrialScheduler.STOP:
            break
    scheduler.on_trial_complete(None, running, result)
    return int(result["training_iteration"])


def test_what_is_still_to_come_counts_with_a_floor_and_groups_do_not_stop_each_other() -> None:
    bad = [1.1] * 10
    for floor, taken in ((0.0, 9), (0.5, 8)):
        scheduler = AreaScheduler(threshold=1.0, group_by=["workers"], floor=floor, iterations=10)
        assert decisions(scheduler, "other", [0.7] * 10, workers=2) == 10
        assert decisions(scheduler, "missed", [1.05] * 10) == 10
        assert decisions(scheduler, "good", [0.9] * 10) == 10
        assert decisions(scheduler, "bad", bad) == taken
        scheduler.on_trial_error(None, SimpleNamespace(trial_id="again"))
        assert decisions(scheduler, "again", [math.nan] * 10) == 10


def test_only_a_loss_that_is_to_fall_is_its_metric() -> None:
    scheduler = AreaScheduler(metric="loss")
    assert scheduler.set_search_properties("loss", "min")
    assert scheduler.set_search_properties(None, None)
    assert not scheduler.set_search_properties("loss", "max")
    assert not scheduler.set_search_properties("accuracy", "min")
    with pytest.raises(ValueError, match="floor: 1 does nothing without iterations; give those of a whole trial"):
        AreaScheduler(floor=1.0)
    with pytest.raises(ValueError, match="floor: -1 is negative"):
        AreaScheduler(floor=-1.0)
