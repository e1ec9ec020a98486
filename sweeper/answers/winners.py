"""A spec of the winners of a sweep, to run them again with another budget, more seeds or evaluations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from engine.config import BATCH_SIZES, BUDGETS
from sweeper.answers.numbers import parameter, plain
from sweeper.errors import SpecError
from sweeper.spec import SweepSpec
from sweeper.spec.axes import WORKERS
from sweeper.spec.listed_settings import NAME as LISTED
from sweeper.spec.sweep_name import LONGEST
from sweeper.spec.wording import describe_faults

_ENDING = "-winners"
_ALWAYS = ("model", "data", "images")  # written out though they are the defaults


def only_groups(answer: Mapping[str, Any], wanted: Sequence[str]) -> dict[str, Any]:
    """A `best_answer` with those of its groups that are wanted, such as "workers=2" or "workers=2,momentum=0.9".

    Raises:
        SpecError: a text does not name a group, or fits none or several of them.
    """
    groups, found = answer["groups"], []
    for text in wanted:
        fitting = [group for group in groups if _pairs(text).items() <= _as_text(group["group"]).items()]
        if len(fitting) != 1:
            known = "; ".join(",".join(map("=".join, _as_text(one["group"]).items())) for one in groups)
            raise SpecError([f"--group {text}: fits {len(fitting) or 'none'} of the groups; they are {known}"])
        found += [group for group in fitting if group not in found]
    return {**answer, "groups": found}


def _pairs(text: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in text.split(",")]
    if any(not (name and mark and value) for name, mark, value in pairs):
        raise SpecError([f"--group {text}: is no group; write its parameters, for example --group workers=2"])
    found = {name.strip(): value.strip() for name, _, value in pairs}
    if len(found) < len(pairs):
        raise SpecError([f"--group {text}: names a parameter twice; give --group once for each group"])
    return found


def _as_text(key: Mapping[str, Any]) -> dict[str, str]:
    return {name: parameter(value) for name, value in key.items()}


def winners_spec(written: Mapping[str, Any] | None, answer: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of a sweep as it was `written`, with the winners of a `best_answer` as its list of settings.

    It is a grid without pruning or shared curves: each winner runs to its end. Its objective is the one that the answer
    is by. Repeats that were raced are left out.

    Raises:
        SpecError: the sweep is an import and has no spec, its spec is none of this version, or nobody won.
    """
    sweep = f"{answer['name']} ({answer['sweep']})"
    if written is None:
        raise SpecError([f"--spec: sweep {sweep} is an import and has no spec; write one with the winners' parameters"])
    try:
        spec = SweepSpec.model_validate(written)
    except ValidationError as error:
        raise SpecError([f"--spec: {line}" for line in describe_faults(error, SweepSpec)]) from None
    winners = [group["winner"]["parameters"] for group in answer["groups"] if group["winner"]]
    if not winners:
        limit = answer["threshold"]
        remedy = "run some to their end" if limit is None else f"give a --threshold above {limit:g}, or run others"
        raise SpecError([f"--spec: no trial of sweep {sweep} qualifies; {remedy}"])
    names = list(dict.fromkeys([WORKERS, *spec.swept]))
    settings = [{name: plain(parameters[name]) for name in names if name in parameters} for parameters in winners]
    kept = spec.model_dump(mode="json", exclude_defaults=True)
    trial = {name: value for name in _ALWAYS if (value := getattr(spec.trial, name, None)) is not None}
    trial |= kept.get("trial", {})
    for alternatives in (BUDGETS, BATCH_SIZES):
        if any(name in names for name in alternatives):  # the winners bring their own
            trial = {name: value for name, value in trial.items() if name not in alternatives}
    groups = answer["groups"][0]["group"]
    objective = {
        "threshold": answer["threshold"],
        "over": answer["over"],
        "group_by": [name for name in groups if name in names],
    }
    repeats = {"repeats": spec.repeats} if isinstance(spec.repeats, int) and spec.repeats > 1 else {}
    left_out = {"name", "trial", "space", "objective", "search", "prune", "reuse", "repeats"}
    return {
        "name": spec.name[: LONGEST - len(_ENDING)] + _ENDING,
        "trial": trial,
        "space": {LISTED: [one for place, one in enumerate(settings) if one not in settings[:place]]},
        "objective": {name: value for name, value in objective.items() if value},
        **{name: value for name, value in kept.items() if name not in left_out},
        **repeats,
    }
