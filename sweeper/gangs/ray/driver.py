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
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

import psutil

from engine.protocol import Failed, decode_event
from sweeper.errors import LaunchError, LostHostError
from sweeper.gangs.calls.far import READY, Answers, serve
from sweeper.gangs.hosts import Lost
from sweeper.gangs.ray.actor import GangActor, HostActor, clear_cause
from sweeper.gangs.ray.checkpoint_files import mark_of
from sweeper.gangs.ray.courier import ActorHost, Courier
from sweeper.gangs.ray.heartbeat import Heartbeat, gone
from sweeper.gangs.ray.host_checks import SEATED, WAITING, check_hosts, fetched
from sweeper.gangs.ray.leftovers import Leftovers
from sweeper.gangs.ray.set_aside import SetAside
from sweeper.gangs.seats import Capacity, Growth, Seats, seats_of

LOOPBACK = "127.0.0.1"
ROOM_S = 10.0  # a gang that waits for its seats says so this often
ACTOR_S = 60.0  # for a process of Ray's to come up and start the MPI job
CLOSE_S = 10.0  # for each of: a gang's end, its actor's
SHARES_S = 5.0  # for the ends of a gang's shares on hosts that may be gone
_FAILED = '{"event":"failed"'
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
    """Gangs on Ray, by the names that the other end gives them. `methods` are what it may call, each in a thread.

    With `growth`, Ray's autoscaler starts further hosts for gangs that wait.
    """

    def __init__(self, ray: Any, growth: Growth | None = None) -> None:
        self._ray, self._growth = ray, growth
        called = (self.capacity, self.check_hosts, self.open, self.run, self.alive, self.stop, self.close)
        self.methods = {method.__name__: method for method in (*called, self.remove_checkpoints)}
        self._groups: dict[str, Any] = {}
        self._actors: dict[str, Any] = {}
        self._peers: dict[str, list[Any]] = {}
        self._shares: dict[str, list[int]] = {}  # ranks on each host
        self._watched: dict[str, GangWatch] = {}
        self._set_aside = SetAside(ray)
        self.leftovers = Leftovers(ray, self._set_aside)

    def capacity(self) -> Iterator[list[tuple[int, int]]]:
        """The cores and GPUs of each living node, and of those that may still come."""
        yield [(seats.cpus, seats.gpus) for seats in self._capacity().hosts]

    def _capacity(self) -> Capacity:
        nodes = [node["Resources"] for node in self._set_aside.usable()]
        living = Capacity(tuple(Seats(int(node.get("CPU", 0)), int(node.get("GPU", 0))) for node in nodes))
        return living.grown(self._growth)

    def check_hosts(
        self, data: list[tuple[str, str]], shapes: list[tuple[int, int, int, bool]], environment: dict[str, str]
    ) -> Iterator[str]:
        """See `sweeper.gangs.ray.host_checks`, for gangs of these workers, cores and GPUs of each, spread or not."""

        def spans() -> bool:
            seats = self._capacity()
            return any(len(seats.shares((n, cpus, gpus), spread=spread)) > 1 for n, cpus, gpus, spread in shapes)

        return check_hosts(self._ray, data, spans, environment)

    def open(
        self,
        name: str,
        job: dict[str, Any],
        need: list[int],
        environment: dict[str, str],
        far: bool,
        data: list[tuple[str, str]],
    ) -> Iterator[str]:
        """Start a gang; `WAITING` every `ROOM_S` for as long as others have its seats, `SEATED` once it has them.

        A gang that is `far` may sit on other hosts than this one: its log is fetched, and it must answer. Each of its
        hosts first fetches the `data` sets that it lacks, which is told by `FETCHING`.
        """
        try:
            shares, seats = self._seats(job, Seats(*need))
            group = self._groups[name] = self._group(seats)
            while not group.wait(ROOM_S):
                if name not in self._groups:
                    raise LaunchError("the gang was closed while it waited for seats")
                yield WAITING
                now = self._seats(job, Seats(*need))
                if now != (shares, seats):  # hosts have come or gone
                    self._ray.util.remove_placement_group(group)
                    shares, seats = now
                    group = self._groups[name] = self._group(seats)
            yield SEATED
            self._actors[name] = self._actor(GangActor, group, seats, 0, environment)
            self._peers[name] = [self._actor(HostActor, group, seats, n, environment) for n in range(1, len(seats))]
            self._shares[name] = shares if shares[1:] else [job["workers"]]
            addresses = self._addresses(group)
            places = list(zip(addresses, shares, strict=True)) if shares[1:] else []
            yield from fetched(
                self._ray, dict(zip(addresses, [self._actors[name], *self._peers[name]], strict=True)), data
            )
            self._started(name, job, places, addresses[0], far)
            if far:
                self._watched[name] = GangWatch(self._ray, self._actors[name], addresses[0], job["log"])
        except LostHostError as error:
            if name in self._groups:  # if not, we have ended its processes ourselves
                self._set_aside.add(error.host)
            self._free(name)
            raise
        except BaseException:
            self._free(name)
            raise

    def _seats(self, job: dict[str, Any], need: Seats) -> tuple[list[int], list[Seats]]:
        """The ranks on each host that a gang takes, and their seats; on one host what it needs in all."""
        shape = job["workers"], job["cpus_per_worker"], job["gpus_per_worker"]
        shares = [] if job["granted"] else self._capacity().shares(shape, spread=job["spread"])
        return shares, [seats_of(ranks, *shape[1:]) for ranks in shares] if shares[1:] else [need]

    def _group(self, seats: Sequence[Seats]) -> Any:
        """A placement group with a bundle a host, so that each host's ranks sit together."""
        bundles = [{"CPU": one.cpus, **({"GPU": one.gpus} if one.gpus else {})} for one in seats]
        strategy = "STRICT_SPREAD" if bundles[1:] else "STRICT_PACK"
        allowed = self._set_aside.selectors(len(bundles))
        return self._ray.util.placement_group(bundles, strategy=strategy, bundle_label_selector=allowed)

    def _addresses(self, group: Any) -> list[str]:
        """The hosts that a placement group has its bundles on, in their order."""
        known = {node["NodeID"]: str(node["NodeManagerAddress"]) for node in self._ray.nodes()}
        bundles = self._ray.util.placement_group_table(group)["bundles_to_node_id"]
        return [known[bundles[number]] for number in sorted(bundles)]

    def _actor(self, kind: type, group: Any, seats: Sequence[Seats], bundle: int, environment: dict[str, str]) -> Any:
        strategy = self._ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(
            placement_group=group, placement_group_bundle_index=bundle
        )
        options = {
            "num_cpus": seats[bundle].cpus,
            "num_gpus": seats[bundle].gpus,
            "max_concurrency": 6,  # a stop, a close and a question come while a run is going on
            "max_restarts": 0,
            "scheduling_strategy": strategy,
        }
        return self._ray.remote(kind).options(**options).remote(environment)

    def _started(self, name: str, job: dict[str, Any], places: list[tuple[str, int]], first: str, far: bool) -> None:
        """Have a gang start. Raises LostHostError where its `first` host has no process for it, or loses it."""
        actor, peers = self._actors[name], self._peers[name]
        try:
            self._ray.get(actor.open.remote(job, places, peers, far=far), timeout=ACTOR_S)
        except self._ray.exceptions.RayTaskError as error:
            raise clear_cause(error) from None
        except self._ray.exceptions.GetTimeoutError:
            problem = f"Ray has not started the gang's process within {ACTOR_S:g} s"
            if far:
                raise LostHostError(f"host {first}: {problem}", first) from None
            raise LaunchError(problem, "see whether the host is overloaded, or use the local executor") from None
        except self._ray.exceptions.RayError as error:
            if far:
                raise LostHostError(gone(first, error).reason, first) from None
            raise LaunchError(_gone(error), "see Ray's logs on the gang's host") from None

    def run(self, name: str, job: dict[str, Any]) -> Iterator[tuple[str, str, float, str]]:
        """The events of a job, as `GangActor.run` has them. No limit: the far end keeps those of the job."""
        try:
            with self._checkpoints_followed(name, job):
                for reference in self._actors[name].run.options(num_returns="streaming").remote(job):
                    told = self._ray.get(reference)
                    self._note_loss(told[-1])
                    yield told
        except self._ray.exceptions.RayTaskError as error:
            raise LaunchError(str(error.cause)) from None
        except self._ray.exceptions.RayError as error:
            watched = self._watched.get(name)
            if watched is None:
                raise LaunchError(_gone(error)) from None
            lost = watched.why(error)
            self._set_aside.add(lost.host)
            raise LostHostError(lost.reason, lost.host) from None
        finally:
            if name in self._watched:
                self._watched[name].fetch_log()

    def _checkpoints_followed(self, name: str, job: dict[str, Any]) -> AbstractContextManager[None]:
        """Have the checkpoints of a job come here, and go to its hosts first, if it has any and runs elsewhere."""
        if name not in self._watched or not job["checkpoints"]:
            return nullcontext()
        folder = job["checkpoints"]
        try:
            mark = mark_of(folder)
        except OSError as error:
            raise LaunchError(f"{folder}: cannot be written ({error.strerror})", "give it space and rights") from None
        self.leftovers.expect(folder, mark)
        hosts = [ActorHost(self._ray, actor) for actor in (self._actors[name], *self._peers[name])]
        return Courier(hosts, self._shares[name], folder, mark).following()

    def remove_checkpoints(self, folder: str) -> Iterator[None]:
        """See `Executor.remove_checkpoints`."""
        self.leftovers.remove(folder)
        yield None

    def _note_loss(self, line: str) -> None:
        """Set a host aside if this event tells of its loss; of the many events few are decoded for it."""
        if line.startswith(_FAILED) and isinstance(event := decode_event(line), Failed) and event.host:
            self._set_aside.add(event.host)

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
        actor, watched = self._actors.get(name), self._watched.get(name)
        if watched and watched.lost:
            self._end_shares(self._peers.get(name, []))
        elif actor:
            try:
                self._ray.get(actor.close.remote(), timeout=CLOSE_S)
            except self._ray.exceptions.RayError:
                self._end_shares(self._peers.get(name, []))  # its own host would have
        self._free(name)
        yield None

    def _end_shares(self, peers: Sequence[Any]) -> None:
        """End what runs on the other hosts of a gang, as far as these answer; the others end it by themselves."""
        if ending := [peer.end_share.remote() for peer in peers]:
            self._ray.wait(ending, num_returns=len(ending), timeout=SHARES_S)

    def _free(self, name: str) -> None:
        self._shares.pop(name, None)
        if watched := self._watched.pop(name, None):
            watched.end()
        for actor in [*self._peers.pop(name, []), *([self._actors.pop(name)] if name in self._actors else [])]:
            self._ray.kill(actor)
        if group := self._groups.pop(name, None):
            self._ray.util.remove_placement_group(group)


class GangWatch:
    """The watch over a gang on other hosts: brings its log here, and gives it up where it does not answer.

    `address` is that of its first host, which has its actor; `lost` says why it was given up.
    """

    def __init__(self, ray: Any, actor: Any, address: str, log: str) -> None:
        self._ray, self._actor, self._address, self._log = ray, actor, address, Path(log)
        self.lost: Lost | None = None
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._log.touch()
        self._writing, self._have = threading.Lock(), 0  # bytes of the log
        self._heartbeat = Heartbeat(ray, {address: actor}, self._lose, self._write, self._ask)

    def why(self, error: Exception) -> Lost:
        """Why the gang's actor is gone, which a call of it has found out by this error."""
        self.lost = self.lost or gone(self._address, error)
        return self.lost

    def fetch_log(self) -> None:
        """Bring the rest of the log here."""
        with suppress(self._ray.exceptions.RayError):
            while (piece := self._ray.get(self._ask(self._actor), timeout=CLOSE_S))[1]:
                self._write(piece)

    def end(self) -> None:
        """Watch no more; what is there of the log is here, unless the host is lost."""
        self._heartbeat.end()
        if not self.lost:
            self.fetch_log()
            with suppress(self._ray.exceptions.RayError):
                self._ray.get(self._actor.remove_log.remote(), timeout=CLOSE_S)

    def _ask(self, actor: Any) -> Any:
        return actor.answer.remote(self._have)

    def _write(self, answer: tuple[int, bytes]) -> None:
        """Append what is new of a piece: the heartbeat and `fetch_log` may ask for the same."""
        begin, piece = answer
        with self._writing, self._log.open("ab") as log:
            self._have += log.write(piece[self._have - begin :])

    def _lose(self, lost: Lost) -> None:
        """Whoever waits for the gang learns of it when its actor is declared dead."""
        self.lost = lost
        self._ray.kill(self._actor)


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
                gangs = Gangs(ray, arguments.growth)
                serve(gangs.methods, sys.stdin, answers)
                gangs.leftovers.join()
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
        if better := _node_here(ray):
            ray.shutdown()
            ray.init(address=arguments.address, _node_ip_address=better, **quiet)
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


def _node_here(ray: Any) -> str | None:
    """The address of this host's node, where Ray has taken us for another one's; None where it has not.

    Ray looks for raylets among the machine's processes, which network namespaces and containers may share. As part of
    another node we are out of reach for gangs on the others.
    """
    own = {address.address for addresses in psutil.net_if_addrs().values() for address in addresses}
    if ray.util.get_node_ip_address() in own:
        return None
    nodes = [node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]]
    return next((address for address in nodes if address in own), None)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Drive Ray for another process until standard input ends.")
    parser.add_argument("--folder", type=Path, required=True, help="for the files of a private Ray")
    parser.add_argument("--address", help="the cluster to join, in place of a private Ray")
    parser.add_argument("--growth", type=Growth.parse, help="of the cluster")
    parser.add_argument("--cpus", type=int, help="of a private Ray")
    parser.add_argument("--gpus", type=int, help="of a private Ray")
    return parser.parse_args()


if __name__ == "__main__":
    main()
