"""From what another program has recorded of a run to a trial, with word of what finds no place in it."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

from sweeper.errors import LogFormatError, SpecError
from sweeper.interchange.foreign.base import ForeignOptions
from sweeper.interchange.importing import shown_name
from sweeper.interchange.known_names import accuracy_name, own_parameters, test_loss_name
from sweeper.interchange.logs.base import Keys, Line
from sweeper.interchange.logs.column_names import find_name
from sweeper.interchange.logs.log import curve_points
from sweeper.interchange.logs.rows import Row
from sweeper.interchange.logs.sessions import Ordered, in_order
from sweeper.interchange.logs.time_origin import DecidedOrigin, TimeOrigin, decide_origin
from sweeper.interchange.logs.times import Moment, TimeKind
from sweeper.interchange.logs.timing import join_times
from sweeper.interchange.parameters import check_parameters, named_parameters, sort_out
from sweeper.plan.trial import TrialState
from sweeper.ranking.curve import LossPoint, summarize
from sweeper.spec.axes import WORKERS
from sweeper.store.archived import ArchivedAttempt, ArchivedSweep, ArchivedTrial
from sweeper.store.records import AttemptRecord, EvaluationRecord, TrialRecord

_SHOWN = 8  # names in a note
_PAUSE_S, _PAUSE_INTERVALS = 60, 20  # a gap that is longer than both, in seconds and in usual gaps, is a pause


@dataclass(frozen=True)
class Value:
    """One value of a metric; `moment` in seconds since 1970, `part` the session of the run that it is of."""

    step: int
    moment: float
    value: float
    part: int = 0


@dataclass(frozen=True)
class RecordedRun:
    """A run: its metrics as they were recorded, its parameters as they are called there, and what else was `told`.

    `state` where the run's own program says how it ended; `began` and `ended` in seconds since 1970, and `starts` when
    each session began, where there were several. `damage` tells of what could not be read.
    """

    name: str
    metrics: Mapping[str, Sequence[Value]]
    parameters: Mapping[str, Any]
    told: Mapping[str, Any] = field(default_factory=dict)
    state: TrialState | None = None
    reason: str = ""
    began: float | None = None
    ended: float | None = None
    starts: Sequence[float] = ()
    damage: str = ""


def new_sweep(name: str) -> ArchivedSweep:
    """An imported sweep, of now."""
    return ArchivedSweep(
        id=secrets.token_hex(4),
        name=shown_name(name),
        origin="import",
        spec=None,
        threshold=None,
        over="seconds",
        group_by=(WORKERS,),
        created_at=datetime.now(UTC),
        stop_asked_at=None,
        gangs=(),
    )


def trials_of(
    sweep: ArchivedSweep, source: Path, runs: Iterable[RecordedRun], options: ForeignOptions, notes: list[str]
) -> Iterator[ArchivedTrial]:
    """A trial for each run that has a loss curve; `notes` get what becomes of the rest when all have been read.

    Raises:
        LogFormatError: no run has one.
        SpecError: parameters that no trial can have.
    """
    check_parameters(options.assignments, options.pattern)
    account = _Account()
    origin = DecidedOrigin(TimeOrigin(options.origin or TimeOrigin.ZERO))  # a run's clock begins when the run does
    if options.keys.seconds is not None:
        runs = list(runs)
        origin = decide_origin(options.origin, _times(runs, options.keys))
    for run in runs:
        loss = find_name("loss", run.metrics, options.keys.loss)
        if loss is None:
            account.without_loss.append(run.name)
            account.metrics.update(dict.fromkeys(run.metrics))
            continue
        try:
            trial = _Trial(sweep, source, run, account, origin).made(loss, options)
        except SpecError as error:
            account.refused += error.problems
            continue
        yield trial
        account.trials += 1
    if not account.trials and account.refused:
        raise SpecError(account.refused)
    if not account.trials:
        raise _no_curve(source, account, options)
    if options.keys.seconds is None:
        notes.append("seconds are those of the clock since each run began, with all that it did")
    notes += [*account.notes(), *origin.notes]


def _times(runs: Iterable[RecordedRun], keys: Keys) -> Iterator[tuple[str, list[float]]]:
    """The seconds that each run with a loss has reported, by its name."""
    for run in runs:
        seconds = find_name("seconds", run.metrics, keys.seconds)
        if seconds is not None and find_name("loss", run.metrics, keys.loss) is not None:
            yield run.name, [value.value for value in run.metrics[seconds] if math.isfinite(value.value)]


@dataclass
class _Account:
    """What is to be said of the runs of a sweep."""

    trials: int = 0
    without_loss: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    metrics: dict[str, None] = field(default_factory=dict)
    last_only: dict[str, None] = field(default_factory=dict)
    said: dict[str, list[str]] = field(default_factory=dict)

    def say(self, what: str, run: str) -> None:
        """Put down a sentence on a run."""
        self.said.setdefault(what, []).append(run)

    def notes(self) -> list[str]:
        """A sentence on each kind of thing."""
        found = [f"{_names(runs)}: {what}" for what, runs in self.said.items()]
        found += [f"{problem}: its run is left out" for problem in self.refused]
        if self.without_loss:
            found.append(f"runs without a loss are left out: {_names(self.without_loss)}")
        if self.last_only:
            found.append(f"of these metrics only the last value is kept, with the attempt: {_names(self.last_only)}")
        return found


@dataclass(frozen=True)
class _Trial:
    """One run on its way to a trial."""

    sweep: ArchivedSweep
    source: Path
    run: RecordedRun
    account: _Account
    origin: DecidedOrigin
    said: list[str] = field(default_factory=list)

    def made(self, loss: str, options: ForeignOptions) -> ArchivedTrial:
        """The trial, whose loss is the metric of this name."""
        run = self.run
        (parameters,) = named_parameters(
            [f"{self.source}: {run.name}"],
            [run.name],
            options.assignments,
            options.pattern,
            [self._recorded()],
        )
        written, used = self._points(loss, options)
        points = self.origin.applied(written)
        evaluations, placed = self._evaluations(points)
        rest = {name: values for name, values in run.metrics.items() if name not in (*used, *placed)}
        self.account.last_only.update(dict.fromkeys(rest))
        last = {name: _json_number(values[-1].value) for name, values in rest.items() if values}
        effective = {**run.told, **({"metrics": last} if last else {}), **self.origin.told(written)}
        told = {**({"damage": run.damage} if run.damage else {}), **({"notes": self.said} if self.said else {})}
        if told:
            effective["import"] = {**effective.get("import", {}), **told}
        return self._trial(parameters, points, evaluations, effective)

    def _recorded(self) -> dict[str, Any]:
        """The run's own parameters; one whose value no trial can have is kept as a text under another name."""
        good, odd = sort_out(own_parameters(self.run.parameters))
        if WORKERS in odd:  # it says which trials compete: nothing else will do
            return {**good, WORKERS: odd[WORKERS]}
        for name, value in odd.items():
            good[f"recorded_{name}"] = str(value)
            self.account.say(f"{name} is {value!r}, which no trial can have: kept as recorded_{name}", self.run.name)
        return good

    def _points(self, loss: str, options: ForeignOptions) -> tuple[tuple[LossPoint, ...], list[str]]:
        """The curve, and the metrics that it was made of."""
        run = self.run
        chosen = options.keys.seconds
        seconds = find_name("seconds", run.metrics, chosen) if chosen else None
        images = find_name("images", run.metrics, options.keys.images)
        if chosen and seconds is None:
            raise LogFormatError(
                f"{self.source}: run {run.name} has no metric {chosen!r}; it has {_names(run.metrics)}",
                "leave out --seconds-key, and the clock's seconds are taken",
            )
        ordered = self._ordered(loss, seconds, images)
        if not ordered.rows:
            raise LogFormatError(f"{self.source}: run {run.name}: no loss has seconds", "leave out --seconds-key")
        at = _reported_seconds(ordered) if seconds else self._clock_seconds(ordered)
        points, notes = curve_points(ordered.rows, at, ordered.positions)
        for note in (*ordered.notes, *notes, *([run.damage] if run.damage else [])):
            self._say(note)
        return points, [name for name in (loss, seconds, images) if name]

    def _ordered(self, loss: str, seconds: str | None, images: str | None) -> Ordered:
        """The losses in the order of their steps, those that a later session has again left out."""
        metrics = self.run.metrics
        times = {value.step: value.value for value in metrics[seconds]} if seconds else {}
        counts = {value.step: value.value for value in metrics[images]} if images else {}
        rows, untimed = [], 0
        for number, value in enumerate(metrics[loss], start=1):
            time = times.get(value.step, math.nan) if seconds else value.moment
            if not math.isfinite(time):
                untimed += 1
                continue
            moment = Moment(Decimal(repr(time)), TimeKind.NUMBER if seconds else TimeKind.DATE)
            line = Line(number, f"step {value.step}")
            step = float(value.step)
            rows.append(Row(line, value.value, moment, step, images=counts.get(value.step), part=value.part))
        if untimed:
            self.account.say("losses without seconds are left out", f"{self.run.name} ({untimed})")
        return in_order(rows, join=True)

    def _clock_seconds(self, ordered: Ordered) -> list[float] | None:
        """Seconds since the run, or its first session that counts, began; None where its time stamps tell none."""
        rows, starts = ordered.rows, self.run.starts
        times = [row.time.seconds for row in rows if row.time]
        began = starts[rows[0].part] if starts else times[0] if self.run.began is None else self.run.began
        zero = Decimal(repr(began)) if isinstance(began, float) else began
        if times[0] < zero:
            self._say("its time stamps lie before its beginning: it has no seconds")
            return None
        if len(times) > 1 and len(set(times)) == 1:
            self._say("its time stamps are all the same: it has no seconds")
            return None
        if starts:
            ordered.above = [_moment(starts[rows[index].part]) for index in ordered.begins]
        joined = self._without_pauses(join_times(ordered, times, "time stamp"))
        return [float(time - zero) for time in joined]

    def _without_pauses(self, times: list[Decimal]) -> list[Decimal]:
        """Times without gaps that are far above the usual one: a run that waits, or is down, does not train."""
        gaps = [after - before for before, after in pairwise(times)]
        usual = sorted(gaps)[len(gaps) // 2] if gaps else Decimal(0)
        paused, found = Decimal(0), times[:1]
        for gap, time in zip(gaps, times[1:], strict=True):
            if gap > _PAUSE_S and gap > _PAUSE_INTERVALS * usual > 0:
                paused += gap - usual
            found.append(time - paused)
        if paused:
            self._say(f"pauses of {float(paused):.6g} s between its values are not counted as training")
        return found

    def _say(self, what: str) -> None:
        """Tell something of the run, with the import and with its attempt."""
        self.account.say(what, self.run.name)
        self.said.append(what)

    def _evaluations(self, points: Sequence[LossPoint]) -> tuple[list[EvaluationRecord], list[str]]:
        """Accuracies and losses of evaluations, and the metrics that have gone into them."""
        metrics = self.run.metrics
        accuracy, loss = accuracy_name(metrics), test_loss_name(metrics)
        accuracies = {value.step: value for value in metrics[accuracy]} if accuracy else {}
        if not all(0 <= value.value <= 1 for value in accuracies.values()):
            accuracy, accuracies = None, {}
        losses = {value.step: value for value in metrics[loss]} if loss else {}
        at = {point.step: point for point in points}
        found = []
        for step in sorted({*accuracies, *losses}):
            point = at.get(step) or _before(points, step)
            if point is not None:
                loss_of, right = losses.get(step), accuracies.get(step)
                found.append(
                    EvaluationRecord(
                        step,
                        point.images if step in at else None,
                        point.seconds,
                        loss_of.value if loss_of else math.nan,
                        right.value if right else math.nan,
                    )
                )
        return found, [name for name in (accuracy, loss) if name]

    def _trial(
        self,
        parameters: dict[str, Any],
        points: tuple[LossPoint, ...],
        evaluations: list[EvaluationRecord],
        effective: dict[str, Any],
    ) -> ArchivedTrial:
        run, summary = self.run, self.origin.ranked(summarize(points))
        trial_id = f"{self.sweep.id}-{self.account.trials:04d}"
        state = run.state or TrialState.COMPLETED
        if state is TrialState.COMPLETED and not summary.finite:
            state = TrialState.DIVERGED
        source = f"{shown_name(str(self.source))}: {run.name}"
        reason = f"{run.reason}, imported from {source}" if run.reason else f"imported from {source}"
        reason = f"{reason}; {run.damage}" if run.damage else reason
        began = datetime.fromtimestamp(run.began, UTC) if run.began is not None else self.sweep.created_at
        ended = datetime.fromtimestamp(run.ended, UTC) if run.ended is not None else began
        record = TrialRecord(
            id=trial_id,
            sweep_id=self.sweep.id,
            position=self.account.trials,
            workers=parameters[WORKERS],
            parameters=parameters,
            config={},
            resources={},
            state=state,
            reason=reason,
            attempt=1,
            **vars(summary),
        )
        attempt = AttemptRecord(
            trial_id, 1, None, state.value, run.reason, "", effective, None, None, source, began, ended
        )
        return ArchivedTrial(record, (ArchivedAttempt(attempt, points, tuple(evaluations), {}),))


def _moment(time: float) -> Moment:
    return Moment(Decimal(repr(time)), TimeKind.DATE)


def _reported_seconds(ordered: Ordered) -> list[float]:
    """The seconds that a metric of the run's own has reported."""
    times = [row.time.seconds for row in ordered.rows if row.time]
    return [float(time) for time in join_times(ordered, times, "seconds")]


def _before(points: Sequence[LossPoint], step: int) -> LossPoint | None:
    """The last point up to a step."""
    return next((point for point in reversed(points) if point.step <= step), None)


def _no_curve(source: Path, account: _Account, options: ForeignOptions) -> LogFormatError:
    if not account.metrics:
        return LogFormatError(f"{source}: none of its runs has values over time", "name a store that has")
    wanted = "for the loss (such as loss, train_loss)" if options.keys.loss is None else repr(options.keys.loss)
    return LogFormatError(
        f"{source}: no run has a metric {wanted}; there are {_names(account.metrics)}",
        "choose among these with --loss NAME",
    )


def _names(names: Iterable[str]) -> str:
    known = list(dict.fromkeys(names))
    more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    return ", ".join(known[:_SHOWN]) + more


def _json_number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
