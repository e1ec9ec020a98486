"""MLflow's store on SQLite as a rival: loss points by `log_batch`, without a server."""

from __future__ import annotations

import logging
import os
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from sweeper.ranking.curve import LossPoint

NEEDS = ("mlflow", "pandas")


def points_per_second(trials: int, points: Sequence[LossPoint]) -> float:
    """Of so many runs, each with these points in one call: a thousand is the most that MLflow takes."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    entities: Any = import_module("mlflow.entities")
    sql: Any = import_module("mlflow.store.tracking.sqlalchemy_store")
    logging.getLogger("mlflow").setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        store = sql.SqlAlchemyStore(f"sqlite:///{folder}/mlflow.db", f"{folder}/artifacts")
        experiment = store.create_experiment("many")
        runs = [store.create_run(experiment, "user", 0, [], f"run {number}").info.run_id for number in range(trials)]
        begun = time.perf_counter()
        for run in runs:
            # Making the metrics belongs to it: ours takes the points as they are as well.
            metrics = [entities.Metric("loss", p.loss, round(1000 * p.seconds), p.step) for p in points]
            store.log_batch(run, metrics, params=[], tags=[])
        seconds = time.perf_counter() - begun
        store._dispose_engine()
    return trials * len(points) / seconds
