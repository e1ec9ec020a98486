"""Taking a sweep: read, checked and planned as `sweeper run` does it, and recorded once for each key."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from engine.config import is_factory
from sweeper.errors import AccessError, SpecError
from sweeper.gangs.machine import local_capacity
from sweeper.guides.samplers import first_points
from sweeper.plan import outermost, plan
from sweeper.scheduling.admission import check_seating
from sweeper.service.policy import Policy
from sweeper.spec import SweepSpec, parse_spec
from sweeper.spec.command import CommandConfig
from sweeper.store import Store


def submit(store: Store, written: Any, key: str, policy: Policy) -> tuple[str, bool]:
    """Record the sweep of a spec under a key; its id, and whether it is new.

    The same spec under the same key is the same sweep, however often it comes.

    Raises:
        SpecError: the spec cannot be run; a line for each fault.
        SeatingError: a worker count that this machine cannot seat.
        SubmissionError: the key stands for another spec.
        AccessError: the spec runs code that may not be run here.
    """
    try:
        spec = parse_spec(written)
    except RecursionError:
        raise SpecError(["spec: is nested too deeply to be one; see docs/spec.md"]) from None
    if not policy.allow_code:
        _check_code(spec)
    trials = plan(spec, first_points)
    needed = [*trials.kinds, *(outermost(spec) if spec.search.learns else [])]
    if not policy.ray_address:
        check_seating(needed, local_capacity(), oversubscribe=policy.oversubscribe)
    return store.submissions.add(key, _digest(spec), spec, trials)


def _check_code(spec: SweepSpec) -> None:
    """See that nothing is run but what this project has.

    Raises:
        AccessError: the field that names something else.
    """
    remedy = "start the server with --allow-commands, if all who may submit may also run programs on it"
    if isinstance(spec.trial, CommandConfig):
        raise AccessError("trial.command: this server runs no commands", remedy)
    for name in ("model", "data"):
        for value in {getattr(spec.trial, name), *spec.axes.get(name, ())}:
            if isinstance(value, str) and is_factory(value):
                raise AccessError(f"trial.{name}: {value!r} is code of yours, which this server does not run", remedy)


def _digest(spec: SweepSpec) -> str:
    return hashlib.sha256(json.dumps(spec.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()
