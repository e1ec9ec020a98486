"""Gangs on Ray: a placement group holds a gang's seats, an actor in it owns the MPI job."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.protocol import Failed, decode_event, encode
from sweeper.errors import LaunchError
from sweeper.gangs.base import Capacity, Job, JobEvent, Seats
from sweeper.gangs.gang import Gang
from sweeper.gangs.machine import local_capacity
from sweeper.gangs.streaming import GangHandle, StreamingExecutor

logger = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
_OBJECT_STORE_BYTES = 128 * 1024 * 1024  # only events pass through it
_CLOSE_S = 30.0


class RayExecutor(StreamingExecutor):
    """Runs gangs on a Ray of its own, or on the cluster at `address` ("host:port" or "ray://host:port").

    A private Ray listens on the loopback interface only, keeps its files in a temporary folder that goes with it, and
    has nothing to do with other Rays of the machine. `capacity` sets how much of this machine it may use.

    Raises:
        LaunchError: Ray cannot be started or reached.
    """

    def __init__(self, address: str | None = None, capacity: Capacity | None = None) -> None:
        super().__init__()
        self._folder: Path | None = None
        try:
            if address is None:
                self._start_private(capacity or local_capacity())
            else:
                _import_ray().init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except Exception as error:
            self._remove_folder()
            where = f"at {address}" if address else "on this machine"
            raise LaunchError(
                f"Ray {where} does not answer ({error})", "check it with `sweeper doctor`, or use `--executor local`"
            ) from error

    def capacity(self) -> Capacity:
        """The cores and GPUs of each living node."""
        nodes = [node["Resources"] for node in _import_ray().nodes() if node["Alive"]]
        return Capacity(tuple(Seats(int(node.get("CPU", 0)), int(node.get("GPU", 0))) for node in nodes))

    def open_gang(self, job: Job) -> GangHandle:
        """A gang in a placement group of its own."""
        return _RayGang(job)

    def close(self) -> None:
        """End all gangs, then Ray itself where it is ours."""
        super().close()
        _import_ray().shutdown()
        self._remove_folder()

    def _start_private(self, capacity: Capacity) -> None:
        # Sockets in this folder have paths of at most 107 characters: the system's folder, not a user's deep one.
        self._folder = Path(tempfile.mkdtemp(prefix="sweeper-ray-", dir="/tmp"))
        ray = _import_ray()
        seats = capacity.total
        ray.init(
            address="local",
            num_cpus=seats.cpus,
            num_gpus=seats.gpus,
            object_store_memory=_OBJECT_STORE_BYTES,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            _node_ip_address=LOOPBACK,
            _temp_dir=str(self._folder),
        )
        address = ray.nodes()[0]["NodeManagerAddress"]
        if address != LOOPBACK:
            logger.warning("the private Ray listens on %s: Ray was imported before and is set to do so", address)

    def _remove_folder(self) -> None:
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


class _RayGang:
    """The near end of a gang: its placement group, its actor, the stream of its events."""

    def __init__(self, job: Job) -> None:
        ray = _import_ray()
        need = {"CPU": job.need.cpus, **({"GPU": job.need.gpus} if job.need.gpus else {})}
        # One bundle: all ranks of a gang sit on one host.
        self._group = ray.util.placement_group([need], strategy="STRICT_PACK")
        self._closing, self._closed = threading.Lock(), False
        try:
            ray.get(self._group.ready())
            self._actor = (
                ray.remote(GangActor)
                .options(
                    num_cpus=job.need.cpus,
                    num_gpus=job.need.gpus,
                    max_concurrency=4,  # a stop and a close come while a run is going on
                    max_restarts=0,
                    scheduling_strategy=ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(
                        placement_group=self._group, placement_group_bundle_index=0
                    ),
                )
                .remote(asdict(job), _own_settings())
            )
        except BaseException:
            ray.util.remove_placement_group(self._group)
            raise

    def run(self, job: Job) -> Iterator[JobEvent]:
        """Train a job; an actor that dies is a failure of its job."""
        ray = _import_ray()
        try:
            for reference in self._actor.run.options(num_returns="streaming").remote(asdict(job)):
                gang_id, elapsed_s, line = ray.get(reference)
                event = decode_event(line)
                assert event is not None
                yield JobEvent(job.trial_id, job.attempt, event, gang_id, elapsed_s)
        except ray.exceptions.RayTaskError as error:
            yield JobEvent(job.trial_id, job.attempt, Failed(job.trial_id, str(error.cause)))
        except ray.exceptions.RayError as error:
            reason = f"the actor of the gang is gone ({type(error).__name__})"
            yield JobEvent(job.trial_id, job.attempt, Failed(job.trial_id, reason))

    def stop(self, trial_id: str) -> None:
        """Ask the running trial to end at its next loss point."""
        self._actor.stop.remote(trial_id)

    def close(self) -> None:
        """End the job, then the actor, then give the seats back; once."""
        ray = _import_ray()
        with self._closing:
            if self._closed:
                return
            self._closed = True
            with contextlib.suppress(ray.exceptions.RayError):
                ray.get(self._actor.close.remote(), timeout=_CLOSE_S)
            ray.kill(self._actor)
            ray.util.remove_placement_group(self._group)


class GangActor:
    """The far end of a gang, in a process of Ray's: owns the MPI job. Plain values in, lines out."""

    def __init__(self, job: dict[str, Any], environment: dict[str, str]) -> None:
        os.environ.update(environment)
        # Set by Ray to the GPUs of the bundle, and left as it is where the bundle has none.
        gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if Job(**job).need.gpus else []
        self._gang = Gang(Job(**job), gpus)

    def run(self, job: dict[str, Any]) -> Iterator[tuple[str, float, str]]:
        """See `Gang.run`; each event as the gang's id, the elapsed seconds, and a line of the protocol."""
        for event in self._gang.run(Job(**job)):
            yield event.gang_id, event.elapsed_s, encode(event.event)

    def stop(self, trial_id: str) -> None:
        """See `Gang.stop`."""
        self._gang.stop(trial_id)

    def close(self) -> None:
        """See `Gang.close`."""
        self._gang.close()


def _own_settings() -> dict[str, str]:
    """The submitter's settings of ours, for hosts of a cluster that was started without them."""
    return {name: value for name, value in os.environ.items() if name.startswith("SWEEPER_")}


def _import_ray() -> Any:
    """Ray, told before its first import to keep to the loopback interface and to itself."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Without this a node takes the machine's outer address even when it is given 127.0.0.1.
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    import ray
    import ray.util.scheduling_strategies

    return ray
