"""What is looked at on the hosts of a cluster before a sweep is recorded, as the driver has it done there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from sweeper.errors import LaunchError, LostHostError
from sweeper.gangs.ray.actor import HostActor, clear_cause
from sweeper.gangs.ray.heartbeat import gone
from sweeper.gangs.ray.preflight import differences
from sweeper.gangs.ray.reachability import MEET_S, meeting_job

FETCHING = "fetching"  # said again and again for as long as hosts fetch data
WAITING, SEATED = "waiting", "seated"  # of a gang that comes up: for its seats, and with them
_ACTOR_S = 60.0  # for a process of Ray's to come up
_WORD_S = 10.0
_SILENCE_S = 60.0  # of a host that fetches data, or whose process comes up
_GRACE_S = 10.0  # to end ranks that have not met
_AT_ONCE = 6  # calls: a host meets two others, and answers these
_MEETING_REMEDY = (
    "let all ports between them through the firewall, and see that MPICH takes the right interface: that of the node's "
    "address, or the one that UCX_NET_DEVICES and FI_TCP_IFACE name where you start the node"
)


def check_hosts(
    ray: Any, data: Sequence[tuple[str, str]], spans: Callable[[], bool], environment: Mapping[str, str]
) -> Iterator[str]:
    """See that all hosts are alike, have these data sets, and reach each other if a gang `spans` several of them.

    Says "fetching" every `_WORD_S` while data is fetched.

    Raises:
        LaunchError: a host cannot run Sweeper or get the data, hosts differ, or two of them do not reach each other.
    """
    with _host_actors(ray, environment) as actors:
        said = {address: actor.facts.remote() for address, actor in actors.items()}
        if differing := differences({address: _fact(ray, address, one) for address, one in said.items()}):
            raise LaunchError(f"the hosts of Ray differ in {differing}", "install the same on all hosts")
        yield from fetched(ray, actors, data)
        if spans():
            _check_meetings(ray, actors)


def fetched(ray: Any, actors: Mapping[str, Any], data: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Have the hosts of these actors, by address, fetch data sets that they lack; says "fetching" meanwhile.

    Raises:
        LaunchError: a host cannot get one.
        LostHostError: a host's process is gone, or has not answered for `_SILENCE_S`.
    """
    waiting = {actor.fetch_data.remote(list(data)): address for address, actor in actors.items()} if data else {}
    asked = {address: actor.answer.remote() for address, actor in actors.items()} if data else {}
    heard_at = dict.fromkeys(asked, time.monotonic())
    while waiting:
        there, _ = ray.wait(list(waiting), timeout=_WORD_S)
        for address in waiting.values():
            if ray.wait([asked[address]], timeout=0)[0]:
                asked[address], heard_at[address] = actors[address].answer.remote(), time.monotonic()
            elif time.monotonic() - heard_at[address] > _SILENCE_S:
                raise LostHostError(f"host {address} has not answered for {_SILENCE_S:g} s", address)
        if not there:
            yield FETCHING
        for reference in there:
            address = waiting.pop(reference)
            try:
                ray.get(reference)
            except ray.exceptions.RayTaskError as error:
                cause = clear_cause(error)
                raise LaunchError(f"host {address}: {cause.message}", cause.remedy) from None
            except ray.exceptions.RayError as error:
                raise LostHostError(gone(address, error).reason, address) from None


@contextmanager
def _host_actors(ray: Any, environment: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """An actor on each living node that gangs may use, by its address; it takes no seats."""
    affinity = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    actors: dict[str, Any] = {}
    for node in ray.nodes():
        if node["Alive"] and node["Resources"].get("CPU"):
            options = {
                "num_cpus": 0,
                "max_concurrency": _AT_ONCE,
                "scheduling_strategy": affinity(node["NodeID"], soft=False),
            }
            actors[node["NodeManagerAddress"]] = ray.remote(HostActor).options(**options).remote(environment)
    try:
        yield actors
    finally:
        for actor in actors.values():
            ray.kill(actor)


def _fact(ray: Any, address: str, reference: Any) -> dict[str, str]:
    try:
        return dict(ray.get(reference, timeout=_ACTOR_S))
    except ray.exceptions.GetTimeoutError:
        raise LaunchError(
            f"host {address} of Ray has not answered for {_ACTOR_S:g} s",
            "see whether the machine and its Ray node run, and whether the network reaches it",
        ) from None
    except ray.exceptions.RayError as error:
        reason = next(iter(str(error).strip().splitlines()[-1:]), type(error).__name__)
        raise LaunchError(
            f"host {address} of Ray cannot run Sweeper ({reason})", "install Sweeper there, as on the other hosts"
        ) from None


def _check_meetings(ray: Any, actors: Mapping[str, Any]) -> None:
    """Have each host and the next one meet, all pairs at once."""
    job = asdict(meeting_job())
    asked = {
        actors[one].meet.remote(job, [(one, 1), (other, 1)], [actors[other]]): (one, other)
        for one, other in pairwise(sorted(actors))
    }
    if asked:  # further hosts may still have to come
        ray.wait(list(asked), num_returns=len(asked), timeout=MEET_S + _GRACE_S)
    for reference, (one, other) in asked.items():
        if problem := _meeting_problem(ray, reference):
            raise LaunchError(
                f"hosts {one} and {other} of Ray cannot reach each other by MPI ({problem})", _MEETING_REMEDY
            )


def _meeting_problem(ray: Any, reference: Any) -> str:
    """Raises LaunchError where ranks cannot be started on several hosts at all."""
    try:
        return str(ray.get(reference, timeout=0))
    except ray.exceptions.RayTaskError as error:
        cause = clear_cause(error)
        if cause.remedy:
            raise cause from None
        return cause.message
    except ray.exceptions.RayError as error:
        return f"no answer within {MEET_S + _GRACE_S:g} s ({type(error).__name__})"
