"""From the store to the table of all trials, ranked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

from dashboards.figures.tables.trials import (
    BATCH_SIZE,
    EPOCHS,
    GLOBAL_BATCH_SIZE,
    LEARNING_RATE,
    WORKERS,
    Outcome,
    TrialGroup,
    TrialRow,
    TrialTable,
)
from sweeper.answers.cost import candidates_over, rate_for
from sweeper.errors import FigureError
from sweeper.ranking import Candidate, Group, best_per_group, qualifies
from sweeper.ranking.rank import has_diverged
from sweeper.ranking.settings import competitors, repeats_of
from sweeper.spec import DOLLARS, OVER
from sweeper.store import Store, SweepRecord
from sweeper.store.gc_pause import collection_paused


@collection_paused()
def trial_table(
    store: Store,
    sweep: SweepRecord,
    over: str | None = None,
    threshold: float | None = None,
    *,
    oversubscribed: bool = False,
    rate: float | None = None,
) -> TrialTable:
    """The trials of a sweep, with areas over an axis; axis, threshold and `rate` are the sweep's own unless given.

    With repeats its settings. Areas over seconds of `oversubscribed` trials only where asked for. Along epochs areas
    are over images, which gives the same order. Where no curve has an area over this axis, the table says why. Reads
    no loss points.

    Raises:
        FigureError: the sweep has no trials.
        SpecError: areas over dollars without a rate.
        StoreError: the store cannot be read.
    """
    axis, other = ("images", EPOCHS) if over == EPOCHS else (over or sweep.over, None)
    limit = sweep.threshold if threshold is None else threshold
    rate = rate_for(sweep, axis, rate)
    found = candidates_over(store, sweep, axis, rate, oversubscribed=oversubscribed)
    trials = competitors(found, repeats_of(sweep.spec, (trial.parameters for trial in found)))
    if not trials:
        raise FigureError(f"sweep {sweep.name!r} has no trials", "`sweeper list` shows the sweeps that have some")
    lacks = _lacking(store, sweep, found, axis, rate)
    batch_name = _batch_name(trials)
    others = _varied(trials, sweep.group_by)
    groups = [_group(group, batch_name, others) for group in best_per_group(trials, limit, sweep.group_by)]
    return TrialTable(sweep.id, sweep.name, axis, limit, batch_name, tuple(groups), rate, lacks, other)


def _group(group: Group, batch_name: str, others: Sequence[str]) -> TrialGroup:
    qualified = set(map(id, group.ranking))
    outcomes = [Outcome.QUALIFIED if id(one) in qualified else _other_outcome(one) for one in group.members]
    rows = _rows(group.members, outcomes, batch_name, others, group.winner)
    return TrialGroup(key=group.key, rows=tuple(rows), best_minimum_loss=group.best_minimum_loss)


def outcome(trial: Candidate, threshold: float | None) -> Outcome:
    """What came of a trial; a complete curve without an area over the candidate's axis counts as no result."""
    return Outcome.QUALIFIED if qualifies(trial, threshold) else _other_outcome(trial)


def _other_outcome(trial: Candidate) -> Outcome:
    if has_diverged(trial):
        return Outcome.DIVERGED
    if trial.complete and trial.oversubscribed and trial.area is None:
        return Outcome.OVERSUBSCRIBED
    if not trial.complete or trial.area is None:
        return Outcome.NO_RESULT
    return Outcome.AT_CHANCE if trial.at_chance else Outcome.ABOVE_THRESHOLD


def _rows(
    trials: Sequence[Candidate],
    outcomes: Sequence[Outcome],
    batch_name: str,
    others: Sequence[str],
    winner: Candidate | None,
) -> list[TrialRow]:
    """Made column by column, in the order of a row's fields: there are many, and one at a time take twice the time."""
    fields = zip(*trials, strict=True)
    ids, parameters, states, _, areas, losses, seconds, images, positions, shared, sources, chance, repeats = fields
    columns = (
        ids,
        positions,
        [one[WORKERS] for one in parameters],
        [_batch(one, batch_name) for one in parameters],
        [one.get(LEARNING_RATE) for one in parameters],
        [{name: one[name] for name in others if name in one} for one in parameters] if others else repeat({}),
        states,
        outcomes,
        areas,
        losses,
        seconds,
        [one is winner for one in trials],
        [len(seeds) or 1 for seeds in repeats],
        [source is not None for source in sources],
        images,
        shared,
        chance,
        list(map(_is_global, parameters)),
    )
    return list(map(tuple.__new__, repeat(TrialRow), zip(*columns, strict=False)))  # as `_make`, in a third of the time


def _batch_name(trials: Iterable[Candidate]) -> str:
    """The global size as soon as one trial is given so: that one follows from the other, always in whole images."""
    return GLOBAL_BATCH_SIZE if any(_is_global(trial.parameters) for trial in trials) else BATCH_SIZE


def _is_global(parameters: Mapping[str, Any]) -> bool:
    """Whether the batch was given for all workers together."""
    return parameters.get(GLOBAL_BATCH_SIZE) is not None


def _batch(parameters: Mapping[str, Any], batch_name: str) -> Any:
    value = parameters.get(batch_name)
    if value is not None or batch_name != GLOBAL_BATCH_SIZE:
        return value
    share = parameters.get(BATCH_SIZE)  # a command's may be a word
    return parameters[WORKERS] * share if isinstance(share, int | float) else share


def _varied(trials: Sequence[Candidate], group_by: Sequence[str]) -> list[str]:
    """Names of further parameters that have several values in the sweep, in the order of the plan."""
    known = {BATCH_SIZE, GLOBAL_BATCH_SIZE, LEARNING_RATE, *group_by}
    names = dict.fromkeys(chain.from_iterable([trial.parameters for trial in trials]))
    return [n for n in names if n not in known and len({repr(trial.parameters.get(n)) for trial in trials}) > 1]


def _lacking(
    store: Store, sweep: SweepRecord, trials: Sequence[Candidate], over: str, rate: float | None
) -> tuple[str, str] | None:
    """Why no curve has an area over this axis, and what to do; None where one has, or there are no curves."""
    if _has_areas(trials):
        return None
    whole = [trial for trial in trials if trial.complete and trial.finite]
    if not whole:
        return None
    axes = [axis for axis in OVER if axis != over and (axis != DOLLARS or rate is not None)]
    there = [axis for axis in axes if _has_areas(candidates_over(store, sweep, axis, rate))]
    shared = [trial for trial in whole if trial.oversubscribed]
    ways = [f"take areas over {' or '.join(there)}"] if there else []
    ways += ["rank oversubscribed trials, too"] if shared else []
    why = f"; {len(shared)} of {len(whole)} complete trials shared cores or GPUs" if shared else ""
    problem = f"sweep {sweep.name!r}: none of its curves has an area over {over}{why}"
    if sweep.origin == "import" and over in ("seconds", DOLLARS):
        ways.append("import the logs again and say where their seconds begin")
    return problem, ", or ".join(ways) or "a curve needs a loss point after its start"


def _has_areas(trials: Iterable[Candidate]) -> bool:
    return any(trial.complete and trial.finite and trial.area is not None for trial in trials)
