"""The far end of a gang, in processes of Ray's, one a host: plain values in, lines out."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.data.folders import VARIABLE as DATA_VARIABLE
from engine.errors import ClearError
from engine.protocol import encode
from sweeper.errors import LaunchError, LostHostError
from sweeper.gangs.base import Job
from sweeper.gangs.command_gang import CommandGang
from sweeper.gangs.gang import Gang, open_gang
from sweeper.gangs.hosts import Lost, Place, Share
from sweeper.gangs.launcher import VARIABLE as MPIEXEC_VARIABLE
from sweeper.gangs.ray.heartbeat import DeadMansSwitch, Heartbeat, gone
from sweeper.gangs.ray.preflight import facts

_TUPLES = ("cores", "gpus", "granted")  # which JSON has made lists of
_HOSTS_OWN = (DATA_VARIABLE, MPIEXEC_VARIABLE)
_START_S, _END_S, _MISSING_S = 30.0, 4.0, 3.0
_PIECE_BYTES = 1024 * 1024


class HostActor:
    """Runs one host's share of a gang over several. `environment` is what ranks need of the submitter's.

    Where the host was started with a setting of its own, for example its data folder, that one holds.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        kept = {name for name in _HOSTS_OWN if name in os.environ}
        os.environ.update({name: value for name, value in environment.items() if name not in kept})
        self._share: Share | None = None
        self._switch: DeadMansSwitch | None = None

    def address(self) -> str:
        """By which Ray knows this host."""
        import ray

        return str(ray.util.get_node_ip_address())  # type: ignore[no-untyped-call]

    def facts(self) -> dict[str, str]:
        """What this host has of all that ranks need."""
        return facts()

    def start_share(self, job: dict[str, Any], command: str, variables: dict[str, str]) -> None:
        """Start what mpiexec wants to have started here. Raises LaunchError where it cannot be."""
        self._share = Share(_with_gpus(_job(job)), command, variables, self.address())
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


class GangActor:
    """Owns one MPI job, on this host or with a share on each of `peers`, which are actors by address."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._host = HostActor(environment)
        self._gang: Gang | CommandGang | None = None
        self._log: Path | None = None  # where another host is to have it
        self._sent = 0
        self._switch: DeadMansSwitch | None = None

    def address(self) -> str:
        """By which Ray knows this host."""
        return self._host.address()

    def open(
        self, job: dict[str, Any], places: Sequence[tuple[str, int]] = (), peers: Sequence[Any] = (), *, far: bool
    ) -> None:
        """Start the MPI job, with so many ranks on this host and on each of the others', by address.

        A job that is `far` from whoever watches it keeps its log here for `answer` to send, and ends when nobody asks.
        Raises LaunchError where it cannot be started, LostHostError where another host does not answer.
        """
        opened = _with_gpus(_job(job))
        if far:
            handle, name = tempfile.mkstemp(prefix="sweeper-gang-", suffix=".log")
            os.close(handle)
            self._log = Path(name)
            opened = replace(opened, log_here=name)
        hosts = RayHosts(job, [Place(*place) for place in places], peers) if peers else None
        self._gang = open_gang(opened, hosts)
        if far:
            self._switch = DeadMansSwitch(self.close)

    def run(self, job: dict[str, Any]) -> Iterator[tuple[str, str, float, str]]:
        """See `Gang.run`; each event as the gang's id and log, the elapsed seconds, and a line of the protocol."""
        assert self._gang
        for event in self._gang.run(_job(job)):
            yield event.gang_id, event.log, event.elapsed_s, encode(event.event)

    def alive(self) -> bool:
        """See `Gang.alive`."""
        return self._gang is not None and self._gang.alive()

    def answer(self) -> bytes:
        """What the log has got since the last call."""
        if self._switch:
            self._switch.touch()
        if self._log is None:
            return b""
        with suppress(OSError), self._log.open("rb") as log:
            log.seek(self._sent)
            piece = log.read(_PIECE_BYTES)
            self._sent += len(piece)
            return piece
        return b""

    def stop(self, trial_id: str) -> None:
        """See `Gang.stop`."""
        if self._gang:
            self._gang.stop(trial_id)

    def close(self) -> None:
        """See `Gang.close`."""
        if self._switch:
            self._switch.end()
        if self._gang:
            self._gang.close()

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
            (address, peer.start_share.remote(self._job, command, dict(variables)))
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
            raise (error.cause if isinstance(error.cause, ClearError) else LaunchError(str(error.cause))) from None
        except exceptions.RayError as error:
            raise LostHostError(f"host {address} does not answer ({type(error).__name__})", address) from None

    def end(self) -> None:
        """End the shares of the hosts that answer; the others end by themselves."""
        if self._heartbeat:
            self._heartbeat.end()
        if not self._ending:
            self._ending = [peer.end_share.remote() for peer in self._others.values()]
            self._ray.wait(self._ending, num_returns=len(self._ending), timeout=_END_S)


def _job(plain: dict[str, Any]) -> Job:
    tuples = {name: tuple(plain[name]) for name in _TUPLES if plain[name] is not None}
    return Job(**{**plain, **tuples})


def _with_gpus(job: Job) -> Job:
    """The job with the GPUs of this host's bundle, as Ray has set them; without a GPU Ray leaves the variable alone."""
    if job.gpus is not None:
        return job
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if job.need.gpus else []
    return replace(job, gpus=tuple(visible))
