"""A sweep as values of JSON, the same in all formats: a head, and a part for each trial.

Head: {"sweeper": {"format": 2, "version"}, "sweep": {...}, "gangs": [...]}. Trial: {"trial": {...}, "attempts":
[{"attempt": {...}, "points", "evaluations": [...], "phases": {name: seconds}}]}. The fields are those of the store's
records, moments ISO 8601 in UTC. "points" is how many there are, where a format keeps them in a place of their own. An
attempt whose ranks printed something also has "printed": {"text", "omitted"}.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import version
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from sweeper.errors import DocumentError
from sweeper.interchange.numbers import shorten
from sweeper.ranking.curve import LossPoint
from sweeper.spec.sweep_name import checked_name
from sweeper.store.archived import ArchivedAttempt, ArchivedSweep, ArchivedTrial
from sweeper.store.records import AttemptRecord, EvaluationRecord, Printed, TrialRecord

FORMAT = 2
_FROM_FIRST_POINT = 1  # the format of exports whose areas begin at the first point
BEGINNING = '{"sweeper":'  # of every head's text
Record = TypeVar("Record")
Points = Callable[[int, Any], Sequence[LossPoint]]
"""The points of an attempt, from its number and what stands at "points"."""

_SWEEP_ID, _IDENTITY = re.compile(r"[0-9A-Za-z_]{1,32}"), re.compile(r"\S{1,64}")
_NOT_WHOLE = "export it again; what is there cannot be mended"


def head_document(sweep: ArchivedSweep) -> dict[str, Any]:
    """What stands before the trials."""
    values = _adapter(ArchivedSweep).dump_python(sweep, mode="json")
    gangs = values.pop("gangs")
    del values["areas_from_zero"]
    return {"sweeper": {"format": FORMAT, "version": version("sweeper")}, "sweep": values, "gangs": gangs}


def trial_document(trial: ArchivedTrial, points: Callable[[Sequence[LossPoint]], Any] = len) -> dict[str, Any]:
    """A trial; `points` makes what stands for those of an attempt."""
    follows = {"scheduler_id", "kept_state", "kept_attempt"}  # from who runs it, and from the attempts
    return {
        "trial": _adapter(TrialRecord).dump_python(trial.record, mode="json", exclude=follows),
        "attempts": [
            {
                "attempt": _adapter(AttemptRecord).dump_python(attempt.record, mode="json"),
                "points": points(attempt.points),
                "evaluations": [asdict(evaluation) for evaluation in attempt.evaluations],
                "phases": attempt.phases,
                **({"printed": asdict(attempt.printed)} if attempt.printed else {}),
            }
            for attempt in trial.attempts
        ],
    }


def read_head(source: object, document: Any) -> ArchivedSweep:
    """The sweep of a head; `source` is named in errors.

    Raises:
        DocumentError: it is none, or of a later format.
    """
    heading = _part(source, document, "sweeper", dict)
    if heading.get("format") not in (_FROM_FIRST_POINT, FORMAT):
        raise DocumentError(
            f"{source}: is of format {shorten(heading.get('format'))}, and this version reads up to {FORMAT}",
            "import it with the version of sweeper that wrote it, or a later one",
        )
    values = {**_part(source, document, "sweep", dict), "gangs": _part(source, document, "gangs", list)}
    values["areas_from_zero"] = heading["format"] != _FROM_FIRST_POINT
    sweep = _record(ArchivedSweep, values, f"{source}: sweep")
    try:
        checked_name(sweep.name)
    except ValueError as error:
        raise DocumentError(f"{source}: the sweep's name {shorten(sweep.name)} {error}", _NOT_WHOLE) from None
    names = [gang.id for gang in sweep.gangs]
    fits = _SWEEP_ID.fullmatch(sweep.id) and all(len(name) <= 32 and _IDENTITY.fullmatch(name) for name in names)
    if not fits or len(set(names)) < len(names):
        raise DocumentError(f"{source}: sweep {shorten(sweep.id)} or one of its gangs has no usable id", _NOT_WHOLE)
    return sweep


def read_trial(source: object, sweep: ArchivedSweep, document: Any, points: Points) -> ArchivedTrial:
    """A trial of a sweep.

    Raises:
        DocumentError: it is none, or is not whole.
    """
    record = _record(TrialRecord, _part(source, document, "trial", dict), f"{source}: trial")
    if not record.id.startswith(f"{sweep.id}-") or not _IDENTITY.fullmatch(record.id) or record.sweep_id != sweep.id:
        raise DocumentError(f"{source}: trial {shorten(record.id)} is none of sweep {sweep.id}", _NOT_WHOLE)
    where = f"{source}: trial {record.id}"
    attempts = [_attempt(where, each, points) for each in _part(where, document, "attempts", list)]
    return ArchivedTrial(replace(record, scheduler_id=None), tuple(attempts))


def _attempt(where: str, document: Any, points: Points) -> ArchivedAttempt:
    record = _record(AttemptRecord, _part(where, document, "attempt", dict), where)
    there = _part(where, document, "points", object)
    try:
        found = tuple(points(record.number, there))
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise DocumentError(f"{where}: its points cannot be read ({shorten(str(error))})", _NOT_WHOLE) from None
    if isinstance(there, int) and there != len(found):
        raise DocumentError(f"{where}: attempt {record.number} has {len(found)} of {there} points", _NOT_WHOLE)
    evaluations = [_record(EvaluationRecord, one, where) for one in _part(where, document, "evaluations", list)]
    phases = _record(dict[str, float], _part(where, document, "phases", dict), where)
    printed = _record(Printed, document["printed"], f"{where}: printed") if "printed" in document else None
    return ArchivedAttempt(record, found, tuple(evaluations), phases, printed)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _record(kind: type[Record], values: Mapping[str, Any], where: str) -> Record:
    try:
        record: Record = _adapter(cast(Any, kind)).validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise DocumentError(f"{where}: {place}: {first['msg']}, got {shorten(first['input'])}", _NOT_WHOLE) from None
    return record


def _part(where: object, document: Any, name: str, kind: type[Any]) -> Any:
    if not isinstance(document, dict) or name not in document or not isinstance(document[name], kind):
        raise DocumentError(f"{where}: has no {name!r}", _NOT_WHOLE)
    return document[name]
