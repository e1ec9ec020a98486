"""Ray Tune as a rival: what a trial costs there besides its training, on a private Ray.

Trials are single processes that hardly train and report one result. At its leanest Ray Tune reuses its actors, and
loggers, console, checkpoints and callbacks are off; as it comes it starts an actor for each trial and logs in three
formats.
"""

from __future__ import annotations

import logging
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from typing import Any
from unittest.mock import patch

from benchmarks.sweeping import End, overhead
from sweeper.gangs.ray.driver import LOOPBACK, import_ray

NEEDS = ("ray", "pandas", "tensorboardX")  # what `ray[tune]` installs
_NO_LOGGERS = {"TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1"}
_OBJECT_STORE_BYTES = 128 * 1024 * 1024


def milliseconds(trials: int, at_once: int, *, lean: bool) -> float:
    """What each of so many trials costs, by `benchmarks.sweeping.overhead`, at Ray Tune's leanest or as it comes."""
    # Sockets in this folder have paths of at most 107 characters.
    with (
        tempfile.TemporaryDirectory(prefix="tune-", dir="/tmp", ignore_cleanup_errors=True) as folder,
        _ray(at_once, folder),
        patch.dict(os.environ, _NO_LOGGERS if lean else {}),
    ):
        ends = _tuned(trials + at_once, at_once, folder, lean)
    return overhead(ends, at_once)


@contextmanager
def _ray(cpus: int, folder: str) -> Iterator[None]:
    # Ray reads its secret once in the life of a process: the same for all calls.
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    ray = import_ray()
    ray.init(
        address="local",
        num_cpus=cpus,
        num_gpus=0,
        object_store_memory=_OBJECT_STORE_BYTES,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        _node_ip_address=LOOPBACK,
        _temp_dir=f"{folder}/ray",
    )
    try:
        yield
    finally:
        ray.shutdown()


def _tuned(trials: int, at_once: int, folder: str, lean: bool) -> list[End]:
    tune: Any = import_module("ray.tune")
    ends: list[End] = []

    class Ends(tune.Callback):  # type: ignore[misc]
        """Notes the ends where Ray Tune's own loop has heard of them."""

        def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **_: Any) -> None:  # noqa: ARG002
            ends.append(End(trial.config["number"], time.perf_counter(), trial.last_result["trained"]))

    settings: dict[str, Any] = {"storage_path": f"{folder}/results", "callbacks": [Ends()]}
    if lean:
        settings |= {"verbose": 0, "checkpoint_config": tune.CheckpointConfig(checkpoint_at_end=False)}
    tuner = tune.Tuner(
        _reusable(tune) if lean else _function(tune),
        param_space={"number": tune.grid_search(list(range(trials)))},
        tune_config=tune.TuneConfig(max_concurrent_trials=at_once, reuse_actors=lean),
        run_config=tune.RunConfig(**settings),
    )
    with redirect_stdout(sys.stderr):  # standard output is for the rows
        results = tuner.fit()
    if results.num_errors or len(ends) != trials:
        raise SystemExit(f"Ray Tune: {results.num_errors} of {trials} trials failed, {len(ends)} ended")
    return ends


def _reusable(tune: Any) -> Any:
    class Short(tune.Trainable):  # type: ignore[misc]
        """A trial whose actor takes the next one."""

        def setup(self, config: dict[str, Any]) -> None:
            """Nothing to set up."""

        def reset_config(self, new_config: dict[str, Any]) -> bool:  # noqa: ARG002
            """Ready for the next trial."""
            return True

        def step(self) -> dict[str, Any]:
            """All of the training."""
            begun = time.perf_counter()
            loss = sum(1 / step for step in range(1, 100))
            return {"loss": loss, "trained": time.perf_counter() - begun, "done": True}

    return Short


def _function(tune: Any) -> Any:
    def short(config: dict[str, Any]) -> None:  # noqa: ARG001
        begun = time.perf_counter()
        loss = sum(1 / step for step in range(1, 100))
        tune.report({"loss": loss, "trained": time.perf_counter() - begun})

    return short
