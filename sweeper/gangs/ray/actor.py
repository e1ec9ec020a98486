"""The far end of a gang, in processes of Ray's, one a host: plain values in, lines out."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.data.folders import VARIABLE as DATA_VARIABLE
from engine.errors import ClearError
from sweeper.errors import LaunchError, LostHostError
from sweeper.gangs.far_gang import FarGang, job_here
from sweeper.gangs.gang import open_gang
from sweeper.gangs.hosts import Lost, Place, Share
from sweeper.gangs.launcher import VARIABLE as MPIEXEC_VARIABLE
from sweeper.gangs.ray.checkpoint_files import (
    Checkpoint,
    begin,
    checkpoint_in,
    files_of,
    put_checkpoint,
    read_files,
)
from sweeper.gangs.ray.heartbeat import DeadMansSwitch, Heartbeat, gone
from sweeper.gangs.ray.preflight import facts
from sweeper.gangs.ray.reachability import meeting_problem

_HOSTS_OWN = (DATA_VARIABLE, MPIEXEC_VARIABLE)
_START_S, _END_S, _MISSING_S = 30.0, 4.0, 3.0
_PIECE_BYTES = 1024 * 1024


def clear_cause(error: Any) -> ClearError:
    """What an actor has raised, by Ray's error; an error of ours as it is."""
    return error.cause if isinstance(error.cause, ClearError) else LaunchError(str(error.cause))


def _lacking_here(environment: Mapping[str, str]) -> dict[str, str]:
    """What this host takes of the submitter's settings: not those that it was started with, such as its data folder."""
    return {name: value for name, value in environment.items() if name not in _HOSTS_OWN or name not in os.environ}


class HostFiles:
    """What a host has and gets besides ranks."""

    def fetch_data(self, data: Sequence[tuple[str, str]]) -> None:
        """Have these splits of data sets on this host, fetched by one process of it. Raises DataError."""
        from engine.data import fetch

        for name, split in data:
            fetch(name, split)

    def begin_checkpoints(self, folder: str, mark: str) -> None:
        """See `begin`."""
        begin(folder, mark)

    def checkpoint_names(self, folder: str, step: int) -> tuple[str, ...]:
        """See `files_of`."""
        return files_of(folder, step)

    def checkpoint(self, folder: str) -> Checkpoint:
        """See `checkpoint_in`."""
        return checkpoint_in(folder)

    def checkpoint_files(self, folder: str, step: int, names: Sequence[str]) -> dict[str, bytes] | None:
        """See `read_files`."""
        return read_files(folder, step, names)

    def put_checkpoint(self, folder: str, checkpoint: Checkpoint, files: dict[str, bytes]) -> None:
        """See `put_checkpoint`."""
        put_checkpoint(folder, checkpoint, files)


class HostActor(HostFiles):
    """Runs one host's share of a gang over several. `environment` is what ranks need of the submitter's.

    Where the host was started with a setting of its own, for example its data folder, that one holds.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        os.environ.update(_lacking_here(environment))
        self._share: Share | None = None
        self._switch: DeadMansSwitch | None = None

    def facts(self) -> dict[str, str]:
        """What this host has of all that ranks need."""
        return facts()

    def meet(self, job: dict[str, Any], places: Sequence[tuple[str, int]], peers: Sequence[HostActor]) -> str:
        """What keeps a rank here from meeting one on another host, as `meeting_problem` has it."""
        return meeting_problem(job_here(job), RayHosts(job, [Place(*place) for place in places], peers))

    def start_share(self, job: dict[str, Any], command: str, variables: dict[str, str], address: str) -> None:
        """Start what mpiexec wants to have started here, at this address. Raises LaunchError where it cannot be."""
        self._share = Share(job_here(job), command, variables, address)
        self._switch = DeadMansSwitch(self.end_share)

    def end_share(self) -> None:
        """End it; nothing is left of it here."""
        if self._switch:
            self._switch.end()
        if self._share:
            self._share.end()

    def answer(self) -> str:
        """What is wrong with the share; "" where nothing is."""
        if self._switch:
            self._switch.touch()
        return self._share.problem() if self._share else ""


class GangActor(HostFiles, FarGang):
    """Owns one MPI job, on this host or with a share on each of `peers`, which are actors by address."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__(_lacking_here(environment))
        self._log: Path | None = None  # where another host is to have it
        self._switch: DeadMansSwitch | None = None

    def open(  # type: ignore[override]  # an actor is called by nobody but the driver
        self, job: dict[str, Any], places: Sequence[tuple[str, int]] = (), peers: Sequence[Any] = (), *, far: bool
    ) -> None:
        """Start the MPI job, with so many ranks on this host and on each of the others', by address.

        A job that is `far` from whoever watches it keeps its log here for `answer` to send, and ends when nobody asks.
        Raises LaunchError where it cannot be started, LostHostError where another host does not answer.
        """
        opened = job_here(job)
        if far:
            handle, name = tempfile.mkstemp(prefix="sweeper-gang-", suffix=".log")
            os.close(handle)
            self._log = Path(name)
            opened = replace(opened, log_here=name)
        hosts = RayHosts(job, [Place(*place) for place in places], peers) if peers else None
        self._gang = open_gang(opened, hosts)
        if far:
            self._switch = DeadMansSwitch(self.close)

    def answer(self, have: int = 0) -> tuple[int, bytes]:
        """A piece of the log for somebody who has so many bytes of it: where it begins, and the piece."""
        if self._switch:
            self._switch.touch()
        if self._log:
            with suppress(OSError), self._log.open("rb") as log:
                log.seek(have)
                return have, log.read(_PIECE_BYTES)
        return have, b""

    def close(self) -> None:
        """See `Gang.close`."""
        if self._switch:
            self._switch.end()
        super().close()

    def remove_log(self) -> None:
        """Leave no log here: it has been sent."""
        if self._log:
            self._log.unlink(missing_ok=True)


class RayHosts:
    """The hosts of a gang: this one, and those of actors that run its shares. See `sweeper.gangs.hosts.Hosts`."""

    def __init__(self, job: dict[str, Any], places: Sequence[Place], peers: Sequence[Any]) -> None:
        import ray

        self._ray, self._job, self._places = ray, job, places
        self._others = dict(zip((place.address for place in places[1:]), peers, strict=True))
        self._heartbeat: Heartbeat | None = None
        self._ending: list[Any] = []

    @property
    def places(self) -> Sequence[Place]:
        """Where the ranks sit."""
        return self._places

    def start(self, commands: Sequence[str], variables: Mapping[str, str], lost: Callable[[Lost], None]) -> None:
        """Run mpiexec's commands on the other hosts, and watch these from now on."""
        for address, started in [
            (address, peer.start_share.remote(self._job, command, dict(variables), address))
            for (address, peer), command in zip(self._others.items(), commands, strict=True)
        ]:
            self._await(address, started)
        self._heartbeat = Heartbeat(self._ray, self._others, lost, lambda problem: problem)

    def missing(self) -> Lost | None:
        """A host that does not answer within `_MISSING_S`, if there is one."""
        asked = {peer.answer.remote(): address for address, peer in self._others.items()}
        answered, silent = self._ray.wait(list(asked), num_returns=len(asked), timeout=_MISSING_S)
        for reference in answered:
            try:
                self._ray.get(reference)
            except self._ray.exceptions.RayError as error:
                return gone(asked[reference], error)
        return next((Lost(f"host {asked[one]} does not answer", asked[one]) for one in silent), None)

    def _await(self, address: str, started: Any) -> None:
        """Raises LaunchError where a host cannot do what it was asked for, LostHostError where it does not answer."""
        exceptions = self._ray.exceptions
        try:
            self._ray.get(started, timeout=_START_S)
        except exceptions.RayTaskError as error:
            raise clear_cause(error) from None
        except exceptions.RayError as error:
            raise LostHostError(f"host {address} does not answer ({type(error).__name__})", address) from None

    def end(self) -> None:
        """End the shares of the hosts that answer; the others end by themselves."""
        if self._heartbeat:
            self._heartbeat.end()
        if not self._ending:
            self._ending = [peer.end_share.remote() for peer in self._others.values()]
            self._ray.wait(self._ending, num_returns=len(self._ending), timeout=_END_S)
