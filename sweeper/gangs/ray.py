"""Gangs on Ray: a placement group holds a gang's seats, an actor in it owns the MPI job."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from engine.data.places import VARIABLE as DATA_VARIABLE
from engine.protocol import Failed, decode_event, encode
from sweeper.errors import LaunchError
from sweeper.gangs.base import Capacity, Job, JobEvent, Seats
from sweeper.gangs.launcher import VARIABLE as MPIEXEC_VARIABLE
from sweeper.gangs.machine import local_capacity
from sweeper.gangs.opening import open_gang
from sweeper.gangs.processes import end_job, family
from sweeper.gangs.ray_head import import_ray, keep_private
from sweeper.gangs.seat_pool import SeatPool
from sweeper.gangs.streaming import GangHandle, StreamingExecutor

_START_S = 60.0
_CLOSE_S = 10.0  # for each of: a gang, our connection, Ray itself


class RayExecutor(StreamingExecutor):
    """Runs gangs on a Ray of its own, or on the cluster whose control service is at `address` ("host:port").

    A private Ray listens on the loopback interface only, keeps its files in a temporary folder that goes with it, and
    has nothing to do with other Rays of the machine. `capacity` sets how much of this machine it may use; for `share`
    see `StreamingExecutor`.

    Raises:
        LaunchError: Ray cannot be started or reached.
    """

    def __init__(self, address: str | None = None, capacity: Capacity | None = None, *, share: bool = False) -> None:
        # What a cluster's nodes have is Ray's to give out.
        super().__init__(SeatPool() if address else SeatPool.of_this_machine(), share=share)
        if address is None:
            keep_private()
        else:
            _check_reachable(address)
        self._head = None if address else _Head(capacity or local_capacity())
        try:
            with _signals_kept():
                import_ray().init(
                    address=self._head.address if self._head else address,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                )
        except BaseException as error:  # an interrupt as well: nobody else would end the head
            if self._head:
                self._head.close()
            if not isinstance(error, Exception):
                raise
            raise _no_answer(f"at {address}" if address else "on this machine", error) from error

    def capacity(self) -> Capacity:
        """The cores and GPUs of each living node."""
        nodes = [node["Resources"] for node in import_ray().nodes() if node["Alive"]]
        return Capacity(tuple(Seats(int(node.get("CPU", 0)), int(node.get("GPU", 0))) for node in nodes))

    def open_gang(self, job: Job) -> GangHandle:
        """A gang in a placement group of its own."""
        return _RayGang(job)

    def close(self) -> None:
        """End all gangs, then our connection, then Ray itself where it is ours; a dead Ray delays this and no more."""
        super().close()
        leaving = threading.Thread(target=import_ray().shutdown, daemon=True)
        leaving.start()
        leaving.join(_CLOSE_S)
        if self._head:
            self._head.close()


class _Head:
    """The process that holds a private Ray (`sweeper.gangs.ray_head`), and the temporary folder of its files."""

    def __init__(self, capacity: Capacity) -> None:
        # Sockets in this folder have paths of at most 107 characters: the system's folder, not a user's deep one.
        self._folder = Path(tempfile.mkdtemp(prefix="sweeper-ray-", dir="/tmp"))
        seats = capacity.total
        command = [sys.executable, "-m", "sweeper.gangs.ray_head", "--folder", str(self._folder)]
        self._log = self._folder / "head.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "--cpus", str(seats.cpus), "--gpus", str(seats.gpus)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        try:
            self.address = self._first_line()
        except BaseException:
            self.close()
            raise

    def _first_line(self) -> str:
        """The address that Ray answers at, once it does."""
        watchdog = threading.Timer(_START_S, self._process.kill)
        watchdog.start()
        try:
            assert self._process.stdout is not None
            address = self._process.stdout.readline().strip()
        finally:
            watchdog.cancel()
        if not address:
            said = self._log.read_text(errors="replace").strip().splitlines() or [f"no word within {_START_S:g} s"]
            raise _no_answer("on this machine", said[-1])
        return address

    def close(self) -> None:
        """Shut Ray down; what has not ended by then is killed. Safe to call twice."""
        if self._process.returncode is not None:
            return
        members = family(self._process.pid)
        assert self._process.stdin is not None
        self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSE_S)
        end_job(self._process, members)
        shutil.rmtree(self._folder, ignore_errors=True)


@contextlib.contextmanager
def _signals_kept() -> Iterator[None]:
    """Ray takes SIGTERM for itself when it connects; what it means is the caller's to say."""
    numbers = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


def _check_reachable(address: str) -> None:
    """Ray itself would try for many minutes to reach an address where nobody listens.

    Raises:
        LaunchError: the address has no port, or nobody listens there.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or "://" in address:
        raise LaunchError(
            f"--ray-address {address}: is no address of a cluster's control service",
            "write it like 10.0.0.1:6379, and run on a node of the cluster",
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CLOSE_S).close()
    except (OSError, OverflowError) as error:
        raise _no_answer(f"at {address}", error) from None


def _no_answer(where: str, cause: object) -> LaunchError:
    return LaunchError(
        f"Ray {where} does not answer ({cause})", "check it with `sweeper doctor`, or use `--executor local`"
    )


class _RayGang:
    """The near end of a gang: its placement group, its actor, the stream of its events."""

    def __init__(self, job: Job) -> None:
        ray = import_ray()
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
        ray = import_ray()
        try:
            for reference in self._actor.run.options(num_returns="streaming").remote(asdict(job)):
                gang_id, log, elapsed_s, line = ray.get(reference)
                event = decode_event(line)
                assert event is not None
                yield JobEvent(job.trial_id, job.attempt, event, gang_id, log, elapsed_s)
        except ray.exceptions.RayTaskError as error:
            yield JobEvent(job.trial_id, job.attempt, Failed(job.trial_id, str(error.cause)))
        except ray.exceptions.RayError as error:
            reason = f"the actor of the gang is gone ({type(error).__name__})"
            yield JobEvent(job.trial_id, job.attempt, Failed(job.trial_id, reason))

    def alive(self) -> bool:
        """Whether actor and MPI job can serve another job."""
        ray = import_ray()
        try:
            return bool(ray.get(self._actor.alive.remote(), timeout=_CLOSE_S))
        except ray.exceptions.RayError:
            return False

    def stop(self, trial_id: str) -> None:
        """Ask the running trial to end at its next loss point."""
        self._actor.stop.remote(trial_id)

    def close(self) -> None:
        """End the job, then the actor, then give the seats back; once."""
        ray = import_ray()
        with self._closing:
            if self._closed:
                return
            self._closed = True
            with contextlib.suppress(ray.exceptions.RayError):
                ray.get(self._actor.close.remote(), timeout=_CLOSE_S)
            # A Ray that has died answers neither of these, and takes actor and group along anyway.
            freeing = threading.Thread(target=self._free, daemon=True)
            freeing.start()
            freeing.join(_CLOSE_S)

    def _free(self) -> None:
        ray = import_ray()
        ray.kill(self._actor)
        ray.util.remove_placement_group(self._group)


class GangActor:
    """The far end of a gang, in a process of Ray's: owns the MPI job. Plain values in, lines out."""

    def __init__(self, job: dict[str, Any], environment: dict[str, str]) -> None:
        os.environ.update(environment)
        opened = Job(**job)
        if opened.gpus is None:
            # Set by Ray to the GPUs of the bundle, and left as it is where the bundle has none.
            visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if opened.need.gpus else []
            opened = replace(opened, gpus=tuple(visible))
        self._gang = open_gang(opened)

    def run(self, job: dict[str, Any]) -> Iterator[tuple[str, str, float, str]]:
        """See `Gang.run`; each event as the gang's id and log, the elapsed seconds, and a line of the protocol."""
        for event in self._gang.run(Job(**job)):
            yield event.gang_id, event.log, event.elapsed_s, encode(event.event)

    def alive(self) -> bool:
        """See `Gang.alive`."""
        return self._gang.alive()

    def stop(self, trial_id: str) -> None:
        """See `Gang.stop`."""
        self._gang.stop(trial_id)

    def close(self) -> None:
        """See `Gang.close`."""
        self._gang.close()


def _own_settings() -> dict[str, str]:
    """The submitter's settings of ours, for hosts of a cluster that was started without them.

    The folder that the sweep is run from comes first among those of modules, as it does where Python starts in it.
    """
    settings = {name: os.environ[name] for name in (MPIEXEC_VARIABLE, DATA_VARIABLE) if name in os.environ}
    modules = [os.getcwd(), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**settings, "PYTHONPATH": os.pathsep.join(modules)}
