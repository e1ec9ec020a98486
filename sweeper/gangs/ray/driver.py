"""The driver process: connects to Ray, and does there what the executor's process asks for in JSON lines.

It leads a session of its own, so that no signal to the group of `sweeper run` (ctrl-C at a terminal, `timeout`) ends
Ray while gangs are still to be ended in order. The end of its standard input, however that comes about, shuts down a
private Ray, or leaves the cluster.
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine.errors import ClearError
from sweeper.errors import LaunchError
from sweeper.gangs.calls.far import READY, Answers, serve
from sweeper.gangs.far_gang import FarGang
from sweeper.gangs.seats import Seats

LOOPBACK = "127.0.0.1"
ROOM_S = 10.0  # a gang that waits for its seats says so this often
ACTOR_S = 60.0  # for a process of Ray's to come up and start the MPI job
CLOSE_S = 10.0  # for each of: a gang's end, its actor's
_OBJECT_STORE_BYTES = 128 * 1024 * 1024  # only events pass through it


def import_ray() -> Any:
    """Ray, told before its first import to keep to the loopback interface and to itself."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Without this a node takes the machine's outer address even when it is given 127.0.0.1.
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    import ray
    import ray.util.scheduling_strategies

    return ray


class Gangs:
    """Gangs on Ray, by the names that the other end gives them. `methods` are what it may call, each in a thread."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        called = (self.capacity, self.open, self.run, self.alive, self.stop, self.close)
        self.methods = {method.__name__: method for method in called}
        self._groups: dict[str, Any] = {}
        self._actors: dict[str, Any] = {}

    def capacity(self) -> Iterator[list[tuple[int, int]]]:
        """The cores and GPUs of each living node."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        yield [(int(node.get("CPU", 0)), int(node.get("GPU", 0))) for node in nodes]

    def open(self, name: str, job: dict[str, Any], need: list[int], environment: dict[str, str]) -> Iterator[str]:
        """Start a gang; "waiting" every `ROOM_S` for as long as others have its seats, then "open"."""
        seats = Seats(*need)
        bundle = {"CPU": seats.cpus, **({"GPU": seats.gpus} if seats.gpus else {})}
        # One bundle: all ranks of a gang sit on one host.
        group = self._groups[name] = self._ray.util.placement_group([bundle], strategy="STRICT_PACK")
        try:
            while not group.wait(ROOM_S):
                if name not in self._groups:
                    raise LaunchError("the gang was closed while it waited for seats")
                yield "waiting"
            self._actors[name] = self._actor(group, seats, environment)
            self._started(self._actors[name], job)
        except BaseException:
            self._free(name)
            raise
        yield "open"

    def _actor(self, group: Any, seats: Seats, environment: dict[str, str]) -> Any:
        strategy = self._ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(
            placement_group=group, placement_group_bundle_index=0
        )
        options = {
            "num_cpus": seats.cpus,
            "num_gpus": seats.gpus,
            "max_concurrency": 4,  # a stop and a close come while a run is going on
            "max_restarts": 0,
            "scheduling_strategy": strategy,
        }
        return self._ray.remote(FarGang).options(**options).remote(environment)

    def _started(self, actor: Any, job: dict[str, Any]) -> None:
        try:
            self._ray.get(actor.open.remote(job), timeout=ACTOR_S)
        except self._ray.exceptions.RayTaskError as error:
            raise (error.cause if isinstance(error.cause, ClearError) else LaunchError(str(error.cause))) from None
        except self._ray.exceptions.GetTimeoutError:
            raise LaunchError(
                f"Ray has not started the gang's process within {ACTOR_S:g} s",
                "see whether the host is overloaded, or use the local executor",
            ) from None
        except self._ray.exceptions.RayError as error:
            raise LaunchError(_gone(error), "see Ray's logs on the gang's host") from None

    def run(self, name: str, job: dict[str, Any]) -> Iterator[tuple[str, str, float, str]]:
        """The events of a job, as `FarGang.run` has them. No limit: the far end keeps those of the job."""
        try:
            for reference in self._actors[name].run.options(num_returns="streaming").remote(job):
                yield self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise LaunchError(str(error.cause)) from None
        except self._ray.exceptions.RayError as error:
            raise LaunchError(_gone(error)) from None

    def alive(self, name: str) -> Iterator[bool]:
        """Whether actor and MPI job can serve another job."""
        try:
            yield bool(self._ray.get(self._actors[name].alive.remote(), timeout=CLOSE_S))
        except self._ray.exceptions.RayError:
            yield False

    def stop(self, name: str, trial_id: str) -> Iterator[None]:
        """Ask the running trial to end at its next loss point."""
        self._actors[name].stop.remote(trial_id)
        yield None

    def close(self, name: str) -> Iterator[None]:
        """End the MPI job, then the actor, then give the seats back; of a gang that is opening as well."""
        if actor := self._actors.get(name):
            with suppress(self._ray.exceptions.RayError):
                self._ray.get(actor.close.remote(), timeout=CLOSE_S)
        self._free(name)
        yield None

    def _free(self, name: str) -> None:
        if actor := self._actors.pop(name, None):
            self._ray.kill(actor)
        if group := self._groups.pop(name, None):
            self._ray.util.remove_placement_group(group)


def _gone(error: Exception) -> str:
    return f"the actor of the gang is gone ({type(error).__name__})"


def main() -> None:
    """Connect to Ray, do what is asked for on standard input, leave Ray at its end."""
    arguments = _parse()
    # Whoever wants this to end closes standard input; only then is everything in order.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    answers = Answers.on_standard_output()  # what Ray prints is for the log
    try:
        if answers.answer(READY, lambda: _connected(arguments)):
            ray = import_ray()
            try:
                serve(Gangs(ray).methods, sys.stdin, answers)
            finally:
                ray.shutdown()
    finally:
        # Whoever started us may have been killed and cannot.
        shutil.rmtree(arguments.folder, ignore_errors=True)


def _connected(arguments: argparse.Namespace) -> Iterator[str]:
    ray = import_ray()
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    if arguments.address:
        ray.init(address=arguments.address, **quiet)
    else:
        ray.init(
            address="local",
            num_cpus=arguments.cpus,
            num_gpus=arguments.gpus,
            object_store_memory=_OBJECT_STORE_BYTES,
            include_dashboard=False,
            _node_ip_address=LOOPBACK,
            _temp_dir=str(arguments.folder),
            **quiet,
        )
    yield ray.get_runtime_context().gcs_address


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Drive Ray for another process until standard input ends.")
    parser.add_argument("--folder", type=Path, required=True, help="for the files of a private Ray")
    parser.add_argument("--address", help="the cluster to join, in place of a private Ray")
    parser.add_argument("--cpus", type=int, help="of a private Ray")
    parser.add_argument("--gpus", type=int, help="of a private Ray")
    return parser.parse_args()


if __name__ == "__main__":
    main()
