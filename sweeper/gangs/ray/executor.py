"""The executor on Ray: a placement group holds a gang's seats, an actor in it owns the MPI job."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

from engine.config import TrainingConfig
from engine.data import has_files
from engine.data.folders import VARIABLE as DATA_VARIABLE
from sweeper.errors import LaunchError
from sweeper.gangs.base import Job, JobEvent
from sweeper.gangs.launcher import VARIABLE as MPIEXEC_VARIABLE
from sweeper.gangs.machine import local_capacity
from sweeper.gangs.ray.driver_process import CLUSTER_REMEDY, DriverProcess
from sweeper.gangs.ray.host_checks import FETCHING, SEATED, WAITING
from sweeper.gangs.seat_locks import SeatLocks
from sweeper.gangs.seats import Capacity, Growth, Seats
from sweeper.gangs.streaming import GangHandle, StreamingExecutor, events_told
from sweeper.plan.trial import TrialSpec

logger = logging.getLogger(__name__)

_REACH_S = 10.0
_ANSWER_S = 30.0  # to what Ray can answer at once
_CHECK_S = 200.0  # between two words: a process comes up on each host, and ranks get a minute to meet
_OPEN_S = 90.0  # between two words of a gang that opens: a wait for seats says so every 10 s, a start ends within 60 s
_CLOSE_S = 60.0  # several times 10 s in the driver, where hosts are lost


class RayExecutor(StreamingExecutor):
    """Runs gangs on a Ray of its own, or on the cluster whose control service is at `address` ("host:port").

    A private Ray has nothing to do with other Rays of the machine, or of this process. `capacity` sets how much of this
    machine it may use; for `share` see `StreamingExecutor`. Gangs wait for hosts that a
    cluster's `growth` still allows.

    Raises:
        LaunchError: Ray cannot be started or reached.
    """

    def __init__(
        self,
        address: str | None = None,
        capacity: Capacity | None = None,
        *,
        share: bool = False,
        growth: Growth | None = None,
    ) -> None:
        # What a cluster's nodes have is Ray's to give out.
        super().__init__(SeatLocks() if address else SeatLocks.of_this_machine(), share=share)
        if address is not None:
            _check_reachable(address)
        self._is_cluster = address is not None
        self._driver = DriverProcess(address or capacity or local_capacity(), growth)

    @property
    def takes_seats(self) -> bool:
        """Whether Ray has nothing to give out but what we have taken: a cluster's seats are its own."""
        return not self._is_cluster

    def capacity(self) -> Capacity:
        """The cores and GPUs of each living node, and of those that may still come."""
        return Capacity(tuple(Seats(*node) for node in self._driver.call("capacity", limit_s=_ANSWER_S)))

    def check_hosts(self, trials: Sequence[TrialSpec]) -> None:
        """Check that what ranks need is there and the same on all hosts of a cluster, and that these reach each other.

        Hosts that lack a data set fetch it.
        """
        if not self._is_cluster:
            return
        data = _with_files(trial.config for trial in trials if isinstance(trial.config, TrainingConfig))
        wanted = {(trial.workers, trial.resources) for trial in trials}
        shapes = [(n, one.cpus_per_worker, one.gpus_per_worker, one.placement == "spread") for n, one in wanted]
        words = self._driver.stream("check_hosts", data, shapes, _own_settings(), limit_s=_CHECK_S)
        _tell_once(words, {FETCHING: f"the hosts fetch {_named(data)}"})

    def open_gang(self, job: Job) -> GangHandle:
        """A gang in a placement group of its own."""
        return _RayGang(self._driver, job, far=self._is_cluster, follow=lambda word: self._follow(job, word))

    def _follow(self, job: Job, word: str) -> None:
        """Hear how far a gang is that comes up; raises LaunchError if nobody wants it any more."""
        if word == SEATED:
            self.note_seats(job)
        if not self.is_wanted(job):
            raise LaunchError("the trial was stopped while its gang came up")

    def remove_checkpoints(self, folder: str) -> None:
        """Begin to remove what the hosts of a cluster have in this folder."""
        if self._is_cluster:
            with contextlib.suppress(LaunchError):  # a Ray that has died is told elsewhere
                self._driver.call("remove_checkpoints", folder, limit_s=_ANSWER_S)

    def close(self) -> None:
        """End all gangs, then our connection, then Ray itself where it is ours; a dead Ray delays this and no more."""
        super().close()
        self._driver.close()


class _RayGang:
    """The near end of a gang; while it comes up, `follow` hears each word of it, and may end it by an error."""

    def __init__(self, driver: DriverProcess, job: Job, *, far: bool, follow: Callable[[str], None]) -> None:
        self._driver, self._name = driver, uuid.uuid4().hex
        self._closing, self._closed = threading.Lock(), False
        seats, trial = [job.need.cpus, job.need.gpus], f"trial {job.trial_id}"
        data = _with_files([TrainingConfig.model_validate(job.config)]) if far and not job.is_command else []
        words = driver.stream("open", self._name, asdict(job), seats, _own_settings(), far, data, limit_s=_OPEN_S)
        asked = f"{seats[0]} CPUs" + (f" and {seats[1]} GPUs" if seats[1] else "")
        waits = f"{trial} waits for {asked} of Ray"
        try:
            _tell_once(words, {WAITING: waits, FETCHING: f"{trial}: its hosts fetch {_named(data)}"}, follow)
        except BaseException:
            self.close()
            raise

    def run(self, job: Job) -> Iterator[JobEvent]:
        """Train a job; an actor that dies is a failure of its job."""
        return events_told(job, self._driver.stream("run", self._name, asdict(job)))

    def alive(self) -> bool:
        """Whether actor and MPI job can serve another job."""
        try:
            return bool(self._driver.call("alive", self._name, limit_s=_ANSWER_S))
        except LaunchError:
            return False

    def stop(self, trial_id: str) -> None:
        """Ask the running trial to end at its next loss point."""
        with contextlib.suppress(LaunchError):  # its end is on its way
            self._driver.call("stop", self._name, trial_id, limit_s=_ANSWER_S)

    def close(self) -> None:
        """End the job, then the actor, then give the seats back; once."""
        with self._closing:
            if not self._closed:
                self._closed = True
                with contextlib.suppress(LaunchError):  # a Ray that has died takes actor and group along
                    self._driver.call("close", self._name, limit_s=_CLOSE_S)


def _check_reachable(address: str) -> None:
    """Ray itself would try for many minutes to reach an address where nobody listens.

    Raises:
        LaunchError: the address has no port, or nobody listens there.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or "://" in address:
        raise LaunchError(
            f"Ray address {address}: not the address of a cluster's control service",
            "write it like 10.0.0.1:6379, and run on a node of the cluster",
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_S).close()
    except (OSError, OverflowError) as error:
        raise LaunchError(f"Ray at {address} does not answer ({error})", CLUSTER_REMEDY) from None


def _with_files(configs: Iterable[TrainingConfig]) -> list[tuple[str, str]]:
    """The data sets, and splits of these, that each host must have the files of."""
    used = dict.fromkeys((config.data, split) for config in configs for split in config.splits)
    return [(name, split) for name, split in used if has_files(name)]


def _named(data: Iterable[tuple[str, str]]) -> str:
    return ", ".join(dict.fromkeys(name for name, _ in data))


def _tell_once(
    words: Iterable[str], meanings: Mapping[str, str], follow: Callable[[str], None] = lambda _: None
) -> None:
    """Pass words on to `follow`, and say of each that has a meaning what it means, the first time that it comes."""
    told: set[str] = set()
    for word in words:
        follow(word)
        if word in meanings and word not in told:
            told.add(word)
            logger.warning("%s", meanings[word])


def _own_settings() -> dict[str, str]:
    """The submitter's settings of ours, for hosts of a cluster that was started without them.

    The folder that the sweep is run from comes first among those of modules, as it does where Python starts in it.
    """
    settings = {name: os.environ[name] for name in (MPIEXEC_VARIABLE, DATA_VARIABLE) if name in os.environ}
    modules = [os.getcwd(), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**settings, "PYTHONPATH": os.pathsep.join(modules)}
